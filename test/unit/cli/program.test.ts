import { Command, CommanderError } from 'commander';
import { describe, expect, test } from 'vitest';
import { createProgram, everyCommand } from '../../../src/cli/program.ts';

const nameOf = (command: Command): string =>
  command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;

describe.each(everyCommand(await createProgram()).map(nameOf))('%s', (name) => {
  test('is described, and so is all that it takes', async () => {
    const command = everyCommand(await createProgram()).find((each) => nameOf(each) === name);
    expect(command?.description()).not.toBe('');
    for (const { description } of [
      ...(command?.options ?? []),
      ...(command?.registeredArguments ?? []),
    ])
      expect(description).not.toBe('');
  });

  test('throws where commander would end the process', async () => {
    const program = await createProgram();
    for (const each of everyCommand(program)) each.configureOutput({ writeErr: () => {} });
    const run = program.parseAsync(['node', ...name.split(' '), '--no-such-option']);
    await expect(run).rejects.toThrow(CommanderError);
  });
});

test('commands are found however deep they are', () => {
  const deep = new Command('a').addCommand(
    new Command('b').addCommand(new Command('c').addCommand(new Command('d'))),
  );
  expect(everyCommand(deep).map((each) => each.name())).toEqual(['a', 'b', 'c', 'd']);
});
