# Bash completion for the mercutio command.

# Where replies are files, blanks in them are quoted, and directories go on: _mercutio_files WORD
_mercutio_files() {
  local file
  [ "${#COMPREPLY[@]}" -gt 0 ] || return 0
  while IFS= read -r file; do
    [ "$file" != "${COMPREPLY[-1]}" ] || compopt -o filenames
  done < <(compgen -f -- "$1")
}

_mercutio() {
  local current="${COMP_WORDS[COMP_CWORD]}" command="${COMP_WORDS[1]:-}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "run preload doctor driver hints explain probe bench connect connections disconnect cp ls stat mkdir rm mv mount umount route report jobs replay tune place version --help --version" -- "$current")
    return
  fi
  case "$command" in
    run) mapfile -t COMPREPLY < <(compgen -W "--print --hint --report --trace -- mpirun mpiexec srun flux jsrun aprun mpirun_rsh prterun" -- "$current"; compgen -c -- "$current") ;;
    doctor)
      if [ "${COMP_WORDS[COMP_CWORD - 1]}" = "--dir" ]; then
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
      else
        mapfile -t COMPREPLY < <(compgen -W "--dir -- mpirun mpiexec srun" -- "$current")
      fi
      ;;
    driver)
      if [ "$COMP_CWORD" -eq 2 ]; then
        mapfile -t COMPREPLY < <(compgen -W "check" -- "$current")
      else
        mapfile -t COMPREPLY < <(compgen -W "--processes --seconds" -- "$current"; compgen -f -- "$current")
      fi
      ;;
    bench)
      local own="--bytes --full --patterns --against overlap"
      [ "${COMP_WORDS[2]:-}" != overlap ] || own="--calls --bytes --servers --rate --stripe --posting-ranks --check-bars"
      case "${COMP_WORDS[COMP_CWORD - 1]}" in
        --dir) mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
        --io) mapfile -t COMPREPLY < <(compgen -W "host romio mercutio traced recorded" -- "$current") ;;
        --json | --plot | --from | --shim | --against) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        *) mapfile -t COMPREPLY < <(compgen -W "$own --dir --ranks --quick --repetitions --time-limit --seed --mpi --io --hint --host-hint --shim --json --plot --from" -- "$current") ;;
      esac
      ;;
    connect)
      case "${COMP_WORDS[COMP_CWORD - 1]}" in
        --audit) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        *) mapfile -t COMPREPLY < <(compgen -W "--root --name --listen --ssh --daemon --servers --launcher --via --forward --forward-at --router --copy-to --idle --expires --grace --connections --audit --streams --compress --write-behind --read-ahead" -- "$current") ;;
      esac
      ;;
    place)
      case "${COMP_WORDS[COMP_CWORD - 1]}" in
        --use) mapfile -t COMPREPLY < <(compgen -W "exchange neighbours" -- "$current") ;;
        --method) mapfile -t COMPREPLY < <(compgen -W "auto setmatch mpipp scotch" -- "$current") ;;
        --topology) mapfile -t COMPREPLY < <(compgen -W "here" -- "$current"; compgen -f -- "$current") ;;
        --restarts | --seed) COMPREPLY=() ;;
        --*) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        *) mapfile -t COMPREPLY < <(compgen -W "--matrix --use --hosts --machine --costs --topology --method --restarts --seed --rankfile --machinefile --slurm --write-matrix" -- "$current"; compgen -f -- "$current") ;;
      esac
      ;;
    report) mapfile -t COMPREPLY < <(compgen -W "--output --compare --perfetto --stats --json --csv --events" -- "$current"; compgen -f -- "$current") ;;
    jobs) mapfile -t COMPREPLY < <(compgen -W "--since --until --user --program --finding --file-system --top --json --html" -- "$current"; compgen -f -- "$current") ;;
    replay)
      case "${COMP_WORDS[COMP_CWORD - 1]}" in
        --to | --scratch) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        *) mapfile -t COMPREPLY < <(compgen -W "--hint --to --think --no-verify --host --json --scratch -- mpirun mpiexec srun" -- "$current"; compgen -f -- "$current") ;;
      esac
      ;;
    tune)
      case "${COMP_WORDS[COMP_CWORD - 1]}" in
        --pattern | --output | --profile | --verify | --to | --json) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        --objective) mapfile -t COMPREPLY < <(compgen -W "io time" -- "$current") ;;
        --search) mapfile -t COMPREPLY < <(compgen -S = -W "$(mercutio hints 2>/dev/null | cut -d' ' -f1)" -- "$current") ;;
        *) mapfile -t COMPREPLY < <(compgen -W "--pattern --trials --pairs --time-limit --search --output --fresh --anew --file --objective --factor --profile --verify --to --force --seed --json --quiet --verbose -- mpirun mpiexec srun flux jsrun aprun mpirun_rsh prterun" -- "$current"; compgen -c -- "$current") ;;
      esac
      ;;
    connections) mapfile -t COMPREPLY < <(compgen -W "--quick --help" -- "$current") ;;
    disconnect) mapfile -t COMPREPLY < <(compgen -W "--force --keep --help" -- "$current") ;;
    mount) mapfile -t COMPREPLY < <(compgen -W "--foreground --keep --help" -- "$current"; compgen -d -- "$current") ;;
    umount) mapfile -t COMPREPLY < <(compgen -W "--lazy --help" -- "$current"; compgen -d -- "$current") ;;
    ls) mapfile -t COMPREPLY < <(compgen -W "--long --help mercutio://" -- "$current") ;;
    stat) mapfile -t COMPREPLY < <(compgen -W "--help mercutio://" -- "$current") ;;
    mkdir) mapfile -t COMPREPLY < <(compgen -W "--parents --help mercutio://" -- "$current") ;;
    rm) mapfile -t COMPREPLY < <(compgen -W "--recursive --help mercutio://" -- "$current") ;;
    mv) mapfile -t COMPREPLY < <(compgen -W "--no-clobber --help mercutio://" -- "$current") ;;
    cp) mapfile -t COMPREPLY < <(compgen -W "--recursive --resume --no-verify --parallel --quiet --help mercutio://" -- "$current"; compgen -f -- "$current") ;;
    route)
      case "${COMP_WORDS[COMP_CWORD - 1]}" in
        --key-file | --audit) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        *) mapfile -t COMPREPLY < <(compgen -W "--listen --to --key-file --connections --audit --detach --help" -- "$current") ;;
      esac
      ;;
    probe)
      if [ "${COMP_WORDS[COMP_CWORD - 1]}" = "--dir" ]; then
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
      else
        mapfile -t COMPREPLY < <(compgen -W "--dir --bytes --processes --repetitions --print" -- "$current")
      fi
      ;;
    explain)
      case "${COMP_WORDS[COMP_CWORD - 1]}" in
        --machine | --pattern | --trace) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        *) mapfile -t COMPREPLY < <(compgen -W "--machine --pattern --hint --ranks --trace" -- "$current") ;;
      esac
      ;;
    hints)
      case "${COMP_WORDS[COMP_CWORD - 1]}" in
        --file | --check) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        --info) mapfile -t COMPREPLY < <(compgen -S = -W "$(mercutio hints 2>/dev/null | cut -d' ' -f1)" -- "$current") ;;
        *) mapfile -t COMPREPLY < <(compgen -W "--file --info --ranks --program --check $(mercutio hints 2>/dev/null | cut -d' ' -f1)" -- "$current") ;;
      esac
      ;;
  esac
  _mercutio_files "$current"
  [[ "$current" != --h* || "${COMPREPLY[*]}" == *--help* ]] || COMPREPLY+=(--help)
}
complete -o default -F _mercutio mercutio

_mercutiod() {
  mapfile -t COMPREPLY < <(compgen -W "--listen --root --key-fd --key-file --idle --expires --grace --connections --audit --detach --help" -- "${COMP_WORDS[COMP_CWORD]}")
}
complete -o default -F _mercutiod mercutiod
