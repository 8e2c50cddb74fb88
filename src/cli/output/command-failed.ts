/** The error of a command that cannot do what it was asked for. Its message is for people, and is all that is printed. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
  readonly exitCode: number;

  constructor(exitCode: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
