# apt: an update from a folder, the cache, and a simulated installation; all its state is its own.
prepare() { need apt-get apt-cache dpkg; }

program() {
    mkdir -p repository state/lists/partial cache/archives/partial parts
    local name
    for name in base tool; do
        printf 'Package: demo-%s\nVersion: 1.0\nArchitecture: all\nMaintainer: nobody\n' $name
        [[ $name == base ]] || printf 'Depends: demo-base\n'
        printf 'Filename: ./demo-%s.deb\nSize: 10\nDescription: demo\n\n' $name
    done >repository/Packages
    touch state/status
    echo "deb [trusted=yes] file:$PWD/repository ./" >sources.list
    cat >apt.conf <<END
Dir::State "$PWD/state";
Dir::State::status "$PWD/state/status";
Dir::Cache "$PWD/cache";
Dir::Etc::SourceList "$PWD/sources.list";
Dir::Etc::SourceParts "$PWD/parts";
Dir::Etc::Parts "$PWD/parts";
Dir::Etc::Preferences "$PWD/none";
Dir::Etc::PreferencesParts "$PWD/parts";
APT::Sandbox::User "";
END
    export APT_CONFIG=$PWD/apt.conf
    apt-get update
    echo "status $?"
    apt-cache policy demo-tool
    apt-cache show demo-base
    apt-get -s install demo-tool
    echo "status $?"
    apt-get -s install demo-none
    echo "status $?"
    dpkg --admindir="$PWD/state" -l
    echo "status $?"
}
# The caches hold times; how long it took is said; whether a method has ended by itself when apt-get
# interrupts it is chance.
normalize() { sed -E '/pkgcache.bin/s/^[0-9]+ //; s/^Fetched.*/Fetched/; s/^(apt-get [a-z]+) (killed 2|exited 0)/\1 ended/'; }
