# Bash completion for the mercutio command.
_mercutio() {
  local current="${COMP_WORDS[COMP_CWORD]}" command="${COMP_WORDS[1]:-}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "run preload doctor hints explain probe bench report version --help --version" -- "$current")
    return
  fi
  case "$command" in
    run) mapfile -t COMPREPLY < <(compgen -W "--print --hint --report --trace -- mpirun mpiexec srun" -- "$current"; compgen -c -- "$current") ;;
    doctor)
      if [ "${COMP_WORDS[COMP_CWORD - 1]}" = "--dir" ]; then
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
      else
        mapfile -t COMPREPLY < <(compgen -W "--dir -- mpirun mpiexec srun" -- "$current")
      fi
      ;;
    bench) mapfile -t COMPREPLY < <(compgen -W "--dir --ranks --bytes --quick --full --patterns --repetitions --time-limit --seed --mpi --io --hint --host-hint --shim --json --plot --from" -- "$current") ;;
    report) mapfile -t COMPREPLY < <(compgen -W "--output --compare --perfetto --json --csv --events" -- "$current"; compgen -f -- "$current") ;;
    probe)
      if [ "${COMP_WORDS[COMP_CWORD - 1]}" = "--dir" ]; then
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
      else
        mapfile -t COMPREPLY < <(compgen -W "--dir --bytes --processes --print" -- "$current")
      fi
      ;;
    explain)
      case "${COMP_WORDS[COMP_CWORD - 1]}" in
        --machine | --pattern) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        *) mapfile -t COMPREPLY < <(compgen -W "--machine --pattern --hint --ranks" -- "$current") ;;
      esac
      ;;
    hints)
      case "${COMP_WORDS[COMP_CWORD - 1]}" in
        --file | --check) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        --info) mapfile -t COMPREPLY < <(compgen -S = -W "$(mercutio hints 2>/dev/null | cut -d' ' -f1)" -- "$current") ;;
        *) mapfile -t COMPREPLY < <(compgen -W "--file --info --ranks --check $(mercutio hints 2>/dev/null | cut -d' ' -f1)" -- "$current") ;;
      esac
      ;;
  esac
}
complete -o default -F _mercutio mercutio
