/**
 * Says in a line each what this user or this container must not do, and how to get it; the tests that need it are
 * skipped. Root has all of it in CI, or the run fails.
 */
export default async function setup(): Promise<void> {
  // They try it out with programs that `provision.ts` installs before.
  const { canBootSystemd } = await import('../platform/support/booted-systemd.ts');
  const { canContain } = await import('../platform/support/image/container.ts');
  const { canSeal } = await import('../support/sealed-network.ts');
  const rights: readonly (readonly [what: string, isGranted: boolean, remedy: string])[] = [
    ['a booted systemd', canBootSystemd, 'run the tests as root, where systemd is installed'],
    ['a network apart', canSeal, 'run the tests as root, or allow user namespaces'],
    ['a container', canContain, 'allow user namespaces, also to root'],
  ];
  for (const [what, isGranted, remedy] of rights) {
    if (isGranted) continue;
    if (process.env.CI && process.getuid?.() === 0)
      throw new Error(`${what} cannot be had. ${remedy}; a container must be privileged.`);
    console.warn(`skipping what needs ${what}: ${remedy}`);
  }
}
