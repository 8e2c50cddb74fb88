/** Names applications by the addresses of their servers. */

/**
 * `lists`: the addresses of each backend. Returns the name of the application that has an address: lists with a common
 * address have the same one.
 */
export function namesOfApplications(
  lists: readonly (readonly string[])[],
): (address: string | undefined) => string | undefined {
  const names = new Map<string, string>();
  for (const addresses of lists) {
    const known = addresses.flatMap((each) => names.get(each) ?? []);
    const name = known[0] ?? addresses[0];
    if (name === undefined) continue;
    for (const [each, other] of names) if (known.includes(other)) names.set(each, name);
    for (const each of addresses) names.set(each, name);
  }
  return (address) => (address === undefined ? undefined : names.get(address));
}
