/** Salts of virtual days. They are the same in every run, so that a test prints the same every time. */
import { DerivedSalts } from '../../gateway/stores/salts/salt-sources.ts';

export function virtualSalts(): DerivedSalts {
  return new DerivedSalts('headgate policy tests');
}
