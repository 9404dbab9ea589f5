package reviewer

import "strings"

// programs may be reviewed where they are not confined, as they would stand in
// Bash(…): they build, test, format or look, or change files whose names they
// are given. Whatever else they are told to write is looked at by itself, and
// see [Never].
const programs = `
go build:* · go test:* · go vet:* · go fmt:* · go list ./... · go doc:* · go version:* · go mod tidy · go mod download · go mod verify · go mod graph · go work sync
gofmt:* · gofumpt:* · goimports:* · golangci-lint run:* · staticcheck:*
cargo build:* · cargo check:* · cargo test:* · cargo nextest run:* · cargo clippy:* · cargo fmt:* · cargo doc:* · cargo bench:* · cargo tree:* · cargo fetch · cargo add:* · cargo remove:* · rustfmt:*
npm test:* · npm run:* · npm ci · npm install · npm ls:* · npm outdated:* · pnpm test:* · pnpm run:* · pnpm install · yarn test:* · yarn run:* · yarn install · yarn · bun test:* · bun run:* · bun install
tsc:* · eslint:* · prettier:* · jest:* · vitest:* · mocha:* · biome:*
make:* · gmake:* · just:* · ninja:* · cmake:* · ctest:* · meson:*
mvn compile:* · mvn test:* · mvn package:* · mvn verify:* · gradle build:* · gradle test:* · gradle check:* · ./gradlew build:* · ./gradlew test:* · ./gradlew check:* · ./mvnw test:* · ./mvnw verify:* · sbt compile:* · sbt test:*
dotnet build:* · dotnet test:* · dotnet restore · dotnet format:*
pytest:* · python -m pytest:* · python3 -m pytest:* · python -m unittest:* · python3 -m unittest:* · tox:* · nox:* · ruff:* · black:* · isort:* · flake8:* · pylint:* · mypy:* · pyright:* · uv sync · uv run pytest:* · poetry install · poetry run pytest:*
bundle exec rspec:* · bundle exec rubocop:* · rspec:* · rubocop:* · phpunit:* · vendor/bin/phpunit:* · mix compile:* · mix test:* · mix format:* · swift build:* · swift test:* · zig build:* · zig test:* · zig fmt:*
shellcheck:* · shfmt:* · clang-format:* · clang-tidy:* · stylua:* · protoc:* · buf lint:* · buf generate:*
git add:* · git commit:* · git mv:* · git rm:* · git stash · git stash push:* · git switch:* · git checkout -b:* · git branch:* · git merge:* · git cherry-pick:* · git revert:* · git tag:* · git fetch · git fetch origin · git fetch --all · git pull · git pull --ff-only · git pull --rebase · git init
git status:* · git diff:* · git log:* · git show:* · git blame:* · git rev-parse:* · git ls-files:* · git grep:* · git describe:*
cd:* · pwd · true · false · test:* · [:* · echo:* · printf:* · ls:* · cat:* · head:* · tail:* · tac:* · nl:* · wc:* · grep:* · rg:* · find:* · sort:* · uniq:* · cut:* · tr:* · comm:* · diff:* · cmp:* · stat:* · file:* · du:* · tree:* · jq:* · basename:* · dirname:* · realpath:* · date · sleep:* · seq:* · which:* · md5sum:* · sha256sum:* · base64:* · column:*
mkdir:* · touch:* · cp:* · mv:* · rm:* · rmdir:* · ln:* · tee:* · sed:* · chmod:* · mktemp:*
`

// reviewed are the rules that stand for programs.
func reviewed() []string {
	var out []string
	for line := range strings.Lines(programs) {
		for p := range strings.SplitSeq(line, "·") {
			if p = strings.TrimSpace(p); p != "" {
				out = append(out, "Bash("+p+")")
			}
		}
	}
	return out
}
