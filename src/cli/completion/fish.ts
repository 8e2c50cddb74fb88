/** The script for fish 3.1 and newer. */
import type { CommandWords, Value } from './words.ts';

export function fishScript(commands: readonly CommandWords[]): string {
  const paths = commands.flatMap(({ path }) => (path.length === 0 ? [] : [quoted(path.join(' '))]));
  return `# Completes headgate in fish. Made by: headgate completion fish
function __headgate_at
    set -l words (commandline -opc)
    set -l path
    for word in $words[2..-1]
        if contains -- (string join ' ' -- $path $word) ${paths.join(' ')}
            set path $path $word
        end
    end
    test "$path" = "$argv[1]"
end
complete -c headgate -f
${commands.map(linesOf).join('')}`;
}

function linesOf({ path, subcommands, options, args }: CommandWords): string {
  const start = `complete -c headgate -n ${quoted(`__headgate_at '${path.join(' ')}'`)}`;
  return [
    ...subcommands.map((each) => `${start} -a ${each.path.at(-1)} -d ${quoted(each.meaning)}\n`),
    ...options.map(({ flags, meaning, value }) => {
      const names = flags.map((flag) =>
        flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
      );
      return `${start} ${names.join(' ')}${value === undefined ? '' : valueWords(value)} -d ${quoted(meaning)}\n`;
    }),
    ...args.flatMap(({ value }) => {
      if (value.kind === 'text') return [];
      const words =
        value.kind === 'choices' ? ` -a ${quoted(value.choices.join(' '))}` : pathWords(value);
      return [`${start}${words}\n`];
    }),
  ].join('');
}

function valueWords(value: Value): string {
  if (value.kind === 'choices') return ` -x -a ${quoted(value.choices.join(' '))}`;
  return value.kind === 'text' ? ' -x' : ` -r${pathWords(value)}`;
}

function pathWords({ kind }: Value): string {
  return kind === 'folder' ? " -a '(__fish_complete_directories)'" : ' -F';
}

function quoted(text: string): string {
  return `'${text.replaceAll(/[\\']/g, '\\$&')}'`;
}
