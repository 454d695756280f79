# Sourced by the scripts that build. Expects $repo, the top of the repository.

# build_preset NAME [TARGET...]: configures and builds a preset of CMakePresets.json, in build/NAME.
build_preset() {
  local preset=$1
  shift
  (cd "$repo" && cmake --preset "$preset" --log-level=WARNING >/dev/null)
  cmake --build "$repo/build/$preset" --parallel ${1:+--target "$@"}
}
