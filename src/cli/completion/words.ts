import type { Argument, Command, Option } from 'commander';

/** What a value may be. Text has no suggestions. */
export type Value =
  | { readonly kind: 'choices'; readonly choices: readonly string[] }
  | { readonly kind: 'file' | 'folder' | 'text' };

export type OptionWords = ReturnType<typeof optionWords>;

export interface CommandWords {
  /** Without `headgate`; empty for the program itself. */
  readonly path: readonly string[];
  readonly meaning: string;
  readonly subcommands: readonly CommandWords[];
  readonly options: readonly OptionWords[];
  readonly args: readonly { readonly value: Value; readonly isVariadic: boolean }[];
}

export function wordsOf(program: Command): CommandWords[] {
  return everyCommand(commandWords(program, []));
}

function everyCommand(command: CommandWords): CommandWords[] {
  return [command, ...command.subcommands.flatMap(everyCommand)];
}

function commandWords(command: Command, path: readonly string[]): CommandWords {
  const help = command.createHelp();
  return {
    path,
    meaning: command.description(),
    subcommands: command.commands.map((each) => commandWords(each, [...path, each.name()])),
    options: help.visibleOptions(command).map(optionWords),
    args: command.registeredArguments.map((each) => ({
      value: valueKind(each, each.name()),
      isVariadic: each.variadic,
    })),
  };
}

function optionWords(option: Option) {
  const [, placeholder] = /[<[]([\w=-]+)/.exec(option.flags) ?? [];
  return {
    flags: [option.short, option.long].filter((flag) => flag !== undefined && flag !== null),
    meaning: option.description,
    value: placeholder === undefined ? undefined : valueKind(option, placeholder),
    isRepeatable: option.variadic || option.parseArg !== undefined,
  };
}

function valueKind({ argChoices }: Option | Argument, placeholder: string): Value {
  if (argChoices !== undefined) return { kind: 'choices', choices: argChoices };
  if (/^(files?|logs?|paths?)$/.test(placeholder)) return { kind: 'file' };
  return { kind: placeholder === 'folder' ? 'folder' : 'text' };
}
