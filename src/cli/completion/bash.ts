/** The script for bash 3.2 and newer. */
import type { CommandWords, Value } from './words.ts';

export function bashScript(commands: readonly CommandWords[]): string {
  const paths = commands.flatMap(({ path }) => (path.length === 0 ? [] : [quoted(path.join(' '))]));
  return `# Completes headgate in bash. Made by: headgate completion bash
_headgate_words() {
  local each
  COMPREPLY=()
  while IFS= read -r each; do COMPREPLY+=("$each"); done < <(compgen "$@" -- "$word")
}
_headgate() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD - 1]}" path='' i
  # bash cuts --option=value into three words.
  if [ "$before" = = ]; then before="\${COMP_WORDS[COMP_CWORD - 2]}"; fi
  if [ "$word" = = ]; then word='' before="\${COMP_WORDS[COMP_CWORD - 1]}"; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${path:+$path }\${COMP_WORDS[i]}" in
      ${paths.join(' | ')}) path="\${path:+$path }\${COMP_WORDS[i]}" ;;
    esac
  done
  COMPREPLY=()
  case "$path $before" in
${commands.flatMap(valueCases).join('')}  esac
  case "$path" in
${commands.map(wordCase).join('')}  esac
}
complete -F _headgate headgate
`;
}

function valueCases({ path, options }: CommandWords): string[] {
  return options.flatMap(({ flags, value }) => {
    if (value === undefined) return [];
    const words = flags.map((flag) => quoted(`${path.join(' ')} ${flag}`)).join(' | ');
    return [`    ${words}) ${suggesting(value)}return ;;\n`];
  });
}

function wordCase({ path, options, subcommands, args }: CommandWords): string {
  const flags = options.flatMap((option) => option.flags);
  const names = subcommands.map((each) => each.path.at(-1) ?? '');
  const values = args.map(({ value }) => value);
  const choices = values.flatMap((value) => (value.kind === 'choices' ? value.choices : []));
  const files = values.find(({ kind }) => kind === 'file' || kind === 'folder');
  const others = [...names, ...choices];
  const words = others.length > 0 ? `_headgate_words -W ${quoted(others.join(' '))} ` : '';
  return `    ${quoted(path.join(' '))})
      case "$word" in
        -*) _headgate_words -W ${quoted(flags.join(' '))} ;;
        *) ${files === undefined ? words : suggesting(files, others)};;
      esac ;;
`;
}

function suggesting(value: Value, words: readonly string[] = []): string {
  if (value.kind === 'choices') return `_headgate_words -W ${quoted(value.choices.join(' '))}; `;
  if (value.kind === 'text') return '';
  // With it, bash adds a slash to folders, and quotes spaces.
  const more = words.length > 0 ? ` -W ${quoted(words.join(' '))}` : '';
  return `compopt -o filenames 2>/dev/null; _headgate_words ${value.kind === 'folder' ? '-d' : '-f'}${more}; `;
}

export function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
