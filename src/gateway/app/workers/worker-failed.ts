/** A worker ended before it could answer. Its own output says why, if it got that far. */
export class WorkerFailed extends Error {
  override readonly name = 'WorkerFailed';
  readonly code = 'HEADGATE_WORKER_FAILED';
  readonly exitCode: number;

  constructor(exitCode: number, how = `exit code ${exitCode}`) {
    super(`a worker ended before it answered: ${how}`);
    this.exitCode = exitCode;
  }
}
