import { quoted } from './bash.ts';
import type { CommandWords, OptionWords, Value } from './words.ts';

export function zshScript(commands: readonly CommandWords[]): string {
  return `#compdef headgate
# Completes headgate in zsh. Made by: headgate completion zsh
${commands.map(functionOf).join('')}
if [ "$funcstack[1]" = _headgate ]; then
  _headgate "$@"
else
  compdef _headgate headgate
fi
`;
}

function nameOf(path: readonly string[]): string {
  return ['_headgate', ...path].join('_').replaceAll('-', '_');
}

function functionOf({ path, options, subcommands, args }: CommandWords): string {
  const specs = [
    ...options.flatMap(optionSpecs),
    ...args.map(({ value, isVariadic }, i) =>
      quoted(`${isVariadic ? '*' : i + 1}:${argumentName(value)}:${actionOf(value)}`),
    ),
  ];
  if (subcommands.length === 0) return `${nameOf(path)}() {\n  _arguments -s${lines(specs)}\n}\n`;
  const names = subcommands.map((each) =>
    quoted(`${each.path.at(-1)}:${each.meaning.replaceAll(':', '\\:')}`),
  );
  const calls = subcommands.map((each) => `    ${each.path.at(-1)}) ${nameOf(each.path)} ;;\n`);
  return `${nameOf(path)}() {
  local curcontext="$curcontext" state line
  local -a commands
  commands=(${lines(names)}
  )
  _arguments -C${lines([...specs, quoted('1: :->command'), quoted('*:: :->rest')])}
  case $state in
  command) _describe command commands ;;
  rest)
    case $line[1] in
${calls.join('')}    esac ;;
  esac
}
`;
}

function lines(words: readonly string[]): string {
  return words
    .map((word) => ` \\\n    ${word}`)
    .join('')
    .replace(/^ \\/, words.length === 0 ? '' : ' \\');
}

function optionSpecs({ flags, meaning, value, isRepeatable }: OptionWords): string[] {
  const escaped = meaning.replaceAll(/[[\]\\:]/g, '\\$&');
  const argument = value === undefined ? '' : `:${argumentName(value)}:${actionOf(value)}`;
  const once = isRepeatable ? '*' : `(${flags.join(' ')})`;
  return flags.map((flag) => quoted(`${once}${flag}[${escaped}]${argument}`));
}

function argumentName({ kind }: Value): string {
  return kind === 'choices' ? 'value' : kind;
}

function actionOf(value: Value): string {
  if (value.kind === 'choices') return `(${value.choices.join(' ')})`;
  return value.kind === 'file' ? '_files' : value.kind === 'folder' ? '_files -/' : ' ';
}
