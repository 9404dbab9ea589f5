package shell_test

import (
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/permission/internal/shell"
)

// TestNetwork holds which lines have a command that needs the network.
func TestNetwork(t *testing.T) {
	t.Parallel()
	for want, lines := range map[bool]string{
		true: `
curl https://h/x
curl -s localhost:3000/health
wget -q https://h/x
git fetch
git fetch --all --prune
git pull --rebase
git push --dry-run
git push origin main
git clone https://h/r d
git ls-remote
git -C sub pull
git --no-pager -c a.b=c fetch origin
git submodule update --init --recursive
git remote update
git archive --remote=h main
ssh u@h ls
scp a u@h:b
rsync -a a/ h:b/
rsync -a rsync://h/m b
npm install
npm i -D x
npm ci
npm --prefix web install
npm -w a --loglevel silent install x
npm publish
npm init vite
npm view react version
pnpm -C web add x
pnpm dlx x
yarn
yarn add x
yarn --cwd web install
bun add x
pip install -r x
pip3 install x
pip3.12 install x
.venv/bin/pip install x
python -m pip install -e .
python3 -u -m pip install x
uv pip install x
uv sync
uv add x
poetry install
poetry run pip install x
go get x@latest
go mod download
go mod tidy
go -C sub mod tidy
go install golang.org/x/tools/gopls@latest
go run golang.org/x/tools/cmd/goimports@latest -w .
cargo install x
cargo +nightly fetch
cargo update
gem install x
bundle
bundle install
apt-get -y -o Dpkg::Options::=x install y
sudo apt update
dnf -y install x
apk add --no-cache x
brew install x
pacman -Syu
docker pull x
docker push x
docker compose -f a.yml pull
podman pull x
gh pr view 3
kubectl -n x get pods
terraform -chdir=x init
terraform apply
ping -c 1 h
dig h
nc h 80
telnet h
ftp h
openssl s_client -connect h:443
psql -h h db
psql postgres://h/db
gpg --recv-keys X
timeout 60 git fetch
env -i curl h
nohup wget h
bash -c 'cd x && npm ci'
eval 'curl h'
find . -exec curl {} \;
cat urls | xargs -n 1 curl -O
npx playwright install
for u in a b; do curl $u; done
x=$(curl h)
cat < /dev/tcp/h/80
echo x > /dev/udp/h/80
git -c alias.x='!curl h' x
mvn -q clean deploy
dotnet add p package x
/usr/bin/curl h
/opt/homebrew/bin/brew update`,
		false: `
git status
git log
git commit -m push
git -C pull status
git config --get remote.origin.url
git remote -v
git submodule status
git archive main
git --version
curl --version
wget --help
./curl h
scp a b
rsync -a a/ b/
rsync -a --exclude=x:y a/ b/
rsync -a ./a:b c
npm run install
npm run x
npm test
npm start
npm ls
npm init -y
npm ci --offline
npm exec x
npx tsc --noEmit
pnpm test
yarn test
yarn build
bun test
pip list
pip freeze
pip install --no-index x
python -m pytest
python3 install.py
python3 -c 'import pip'
python3 x.py -m pip install
uv run pytest
poetry run pytest
go test ./...
go build ./...
go install ./cmd/x
go run .
go list ./...
go mod edit -x
go vet ./...
cargo build
cargo test
bundle exec rake
apt list
apt-cache search x
brew list
pacman -Q
docker ps
docker build .
docker compose up
kubectl config view
terraform fmt
terraform validate
gh completion
make
make install
./gradlew build
gradle test
mvn test
dotnet build
openssl enc -in x
psql db
gpg --verify x
ffmpeg -i a b
echo curl h
grep -rn curl .
which curl
man curl
type git
ls
echo 'git push'`,
	} {
		for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
			a, err := shell.Analyse(line, shell.Options{Dir: "/w", Home: "/home/u"})
			if err != nil {
				t.Errorf("%q: %v", line, err)
			}
			got := false
			for _, c := range a.Commands {
				got = got || c.Network
			}
			if got != want {
				t.Errorf("%q: needs the network: %v, want %v\n%s", line, got, want, describe(a))
			}
		}
	}
}
