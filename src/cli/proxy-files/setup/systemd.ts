import { POLICY_FILE } from './answers.ts';
import type { Setting } from './gateway-settings.ts';

export const UNIT_FILE = 'headgate.service';
const UNIT_FOLDER = '/etc/headgate';

export function systemdUnit(settings: readonly Setting[]): string {
  const secrets = settings.filter(({ value }) => value === undefined);
  return `# Runs the gateway:
#   sudo npm install -g headgate
#   sudo install -D -m 644 ${POLICY_FILE} ${UNIT_FOLDER}/${POLICY_FILE}
${secrets.map(({ name }) => `#   ${UNIT_FOLDER}/environment, which only root reads (mode 600), has the line ${name}=...\n`).join('')}#   sudo install -m 644 ${UNIT_FILE} /etc/systemd/system/
#   sudo systemctl daemon-reload && sudo systemctl enable --now headgate
[Unit]
Description=headgate, a rate-limit gateway
Wants=network-online.target
After=network-online.target
# Restart without end, because requests pass unchecked while headgate is down.
StartLimitIntervalSec=0

[Service]
ExecStart=/usr/bin/env headgate serve
ExecReload=/bin/kill -HUP $MAINPID
Environment=HEADGATE_POLICIES=${UNIT_FOLDER}/${POLICY_FILE}
${settings.flatMap(({ name, value }) => (value === undefined ? [] : [`Environment=${quoted(`${name}=${value}`)}\n`])).join('')}EnvironmentFile=-${UNIT_FOLDER}/environment
Restart=always
RestartSec=1
LimitNOFILE=65536

DynamicUser=yes
NoNewPrivileges=yes
CapabilityBoundingSet=
PrivateDevices=yes
PrivateTmp=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectSystem=strict
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
SystemCallArchitectures=native
UMask=0077

[Install]
WantedBy=multi-user.target
`;
}

/** systemd reads % as the start of a specifier. */
function quoted(assignment: string): string {
  return `"${assignment.replaceAll('%', '%%')}"`;
}
