/** The error of a command that cannot do its work. Its lines are for people, and are all that is printed. */
export class CommandFailed extends Error {
  override readonly name: string = 'CommandFailed';
  readonly exitCode: number;
  readonly lines: readonly string[];

  constructor(exitCode: number, lines: string | readonly string[], options?: ErrorOptions) {
    super([lines].flat().join('\n'), options);
    this.exitCode = exitCode;
    this.lines = [lines].flat();
  }
}
