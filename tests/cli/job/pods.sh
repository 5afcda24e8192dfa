# Kubernetes' pods beside traces: hosts that are pods, numbered pods, why one ended.
. "$ROOT/tests/cli/job/job.bash"
pod() { # NAME NODE LABELS [STATUS]
    echo '{"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {'"$3"'}, "name": "'"$1"'", "namespace": "ml"},
 "spec": {"containers": [], "nodeName": "'"$2"'"}, "status": {'"${4-\"phase\": \"Running\"}"'}}'
}
list() { # two files of pods
    echo '{"apiVersion": "v1", "items": ['
    echo "$(cat "$1"),$(cat "$2")"
    echo '], "kind": "List", "metadata": {"resourceVersion": ""}}'
}
oom='"phase": "Failed", "containerStatuses": [{"name": "t", "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]'
traces named x train-0 train-0 train-1 train-1
pod train-1 gpu-b '' >b
pod train-0 gpu-a '' "$oom" >a
list b a >named/pods.json && say 'hosts that are pods' named
traces boxes x "" "" "" ""
say_list() { list a b >boxes/pods.json && say "$1" boxes; }
pod w-1 gpu-b '"batch.kubernetes.io/job-completion-index": "1", "batch.kubernetes.io/job-name": "w"' >a
pod w-0 gpu-a '"batch.kubernetes.io/job-completion-index": "0"' >b
say_list 'an indexed job'
pod p-worker-0 gpu-b '"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "0"' >a
pod p-master-0 gpu-a '"training.kubeflow.org/replica-type": "master", "training.kubeflow.org/replica-index": "0"' >b
say_list 'a PyTorchJob'
pod p-x gpu-b '' >a
say_list 'pods without numbers'
pod one gpu-a '"job-name": "solo"' >boxes/pods.json && say 'one pod' boxes
head -c 150 boxes/pods.json >cut && mv cut boxes/pods.json && say 'cut' boxes
