# Functions of the doctor's tests: sourced, not run.
cc=${CC:-cc}
command -v "$cc" >/dev/null || { echo "no compiler"; exit 77; }

# doctor CHECKS ARGUMENT...: the lines of these checks with their advice, names of folders and versions taken out, and
# the status. What else it says depends on the machine.
doctor() {
    local checks=$1 status=0
    shift
    "$SPECTER" doctor "$@" >said || status=$?
    awk -v checks="^($checks)$" '/^ / { if (on) print; next } { check = substr($0, 10, 12); sub(/ +$/, "", check); on = check ~ checks } on' said |
        sed -e "s|$PWD|PWD|g" -e "s|$BUILD|BUILD|g" -e 's/[0-9.]* GB free/N GB free/'
    echo "status $status"
}
