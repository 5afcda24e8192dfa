# Node: a worker thread, a child process, a server on a socket in the file system.
prepare() { need node; }

program() {
    cat >small.js <<'JS'
const { Worker, isMainThread, parentPort } = require('worker_threads');
const { execFile } = require('child_process');
const net = require('net'), fs = require('fs');
if (!isMainThread) {
    parentPort.postMessage([...Array(1000).keys()].reduce((a, b) => a + b));
} else {
    process.on('exit', (code) => console.log('exit', code));
    new Worker(__filename).on('message', (sum) => {
        console.log('worker', sum);
        execFile('sh', ['-c', 'echo out; echo err >&2; exit 3'], (error, out, err) => {
            console.log('child', error.code, out.trim(), err.trim());
            const server = net.createServer((s) => s.end('hello')).listen('socket', () => {
                net.connect('socket').on('data', (d) => {
                    console.log('socket', d.toString());
                    fs.writeFileSync('file', d);
                    server.close(() => { process.exitCode = 5; });
                });
            });
        });
    });
}
JS
    node small.js
    echo "status $?"
    node -e 'throw new Error("on purpose")' 2>&1 | grep -c 'on purpose'
}
# Descriptors that its threads open at the same time.
normalize() { sed -E '/^bash node/s,[0-9]+ /dev/null( |$),N /dev/null\1,g'; }
