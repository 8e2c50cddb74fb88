import { type FilePlace, placeText } from '../file-place.ts';

export class NginxSyntaxError extends Error {
  override readonly name = 'NginxSyntaxError';

  readonly place: FilePlace;
  readonly reason: string;

  constructor(place: FilePlace, reason: string) {
    super(`${placeText(place)}: ${reason}`);
    this.place = place;
    this.reason = reason;
  }
}
