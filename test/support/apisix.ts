/**
 * Apache APISIX, as far as it can be had here: NGINX with the Lua module runs the functions of our file as they are, and
 * a replay of APISIX's plugins (test/fixtures/apisix), which was written from the source of 3.18. To run the plugins
 * themselves, set APISIX_LUA_PATH to a list of folders for Lua's package path: one with apisix/plugins, and those of
 * lua-resty-http, lua-resty-expr and lua-resty-ipmatcher.
 */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { freePort } from './ports.ts';
import { NGINX_LUA } from './programs.ts';
import {
  type Behind,
  changed,
  nginxArguments,
  type RunningProxy,
  runProxy,
  secretLine,
} from './proxies.ts';

const REPLAY = fileURLToPath(new URL('../fixtures/apisix/', import.meta.url));

interface Routes {
  readonly plugin_configs: readonly { readonly plugins: Readonly<Record<string, unknown>> }[];
}

interface Settings {
  readonly nginx_config: {
    readonly http: { readonly underscores_in_headers: string; readonly real_ip_from: string[] };
  };
}

export async function startApisix(behind: Behind): Promise<RunningProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-apisix-'));
  const port = await freePort();
  const routes = changed('apisix/apisix.yaml', {
    folder,
    behind,
    changes: {
      '127.0.0.1:3000': `127.0.0.1:${behind.application}`,
      '127.0.0.1:8080': `127.0.0.1:${behind.headgate}`,
      ...(behind.hasShippedTimeouts !== true && { 'timeout: 150': 'timeout: 10000' }),
      ...secretLine('X-Headgate-Secret: "the secret"', behind),
      ...behind.changes,
    },
  });
  const settings = changed('apisix/config.yaml', {
    folder,
    changes: { 'port: 8000': `port: ${port}` },
  });
  const { plugin_configs } = parse(readFileSync(routes, 'utf8')) as Routes;
  const { nginx_config } = parse(readFileSync(settings, 'utf8')) as Settings;
  const plugins = join(folder, 'plugins.lua');
  writeFileSync(plugins, `return ${luaOf(plugin_configs[0]?.plugins)}`);
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, configuration({ ...nginx_config.http, plugins, port, ...behind }));
  return runProxy('nginx', nginxArguments(file, folder), port, folder);
}

/** A value of a YAML file as Lua writes it. The files have ASCII alone, for which both escape alike. */
function luaOf(value: unknown): string {
  if (Array.isArray(value)) return `{${value.map(luaOf).join(',')}}`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.entries(value).map(([key, each]) => `[${JSON.stringify(key)}]=${luaOf(each)}`)}}`;
}

interface NginxInput {
  readonly underscores_in_headers: string;
  readonly real_ip_from: readonly string[];
  /** Path of a Lua file. */
  readonly plugins: string;
  readonly port: number;
  readonly application: number;
}

/** The part of APISIX's own NGINX configuration that a request meets. */
function configuration({ plugins, port, application, ...http }: NginxInput): string {
  const folders = [...(process.env.APISIX_LUA_PATH?.split(':') ?? []), REPLAY];
  return `
load_module ${join(NGINX_LUA, '../ndk_http_module.so')};
load_module ${NGINX_LUA};
events {}
http {
  lua_package_path "${folders.map((each) => join(each, '?.lua')).join(';')};;";
  init_by_lua_block {
    package.preload["apisix.core"] = function() return require("core") end
    if not pcall(require, "resty.http") then
      package.preload["resty.http"] = function() return require("http") end
    end
    route = require("route")
    plugins = route.new(dofile("${plugins}"))
  }
  underscores_in_headers ${http.underscores_in_headers};
  real_ip_header X-Real-IP;
  real_ip_recursive off;
  ${http.real_ip_from.map((each) => `set_real_ip_from ${each};`).join('\n  ')}
  client_max_body_size 0;
  lua_socket_log_errors off;
  upstream application { server 127.0.0.1:${application}; keepalive 320; }
  server {
    listen 127.0.0.1:${port};
    location / {
      set $upstream_upgrade '';
      set $upstream_connection '';
      access_by_lua_block {
        route.run(plugins, "rewrite")
        route.run(plugins, "access")
        ngx.var.upstream_upgrade = ngx.var.http_upgrade
        ngx.var.upstream_connection = ngx.var.http_connection
      }
      header_filter_by_lua_block { route.run(plugins, "header_filter") }
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header Upgrade $upstream_upgrade;
      proxy_set_header Connection $upstream_connection;
      proxy_set_header X-Real-IP $remote_addr;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header X-Forwarded-Host $host;
      proxy_set_header X-Forwarded-Port $server_port;
      proxy_pass http://application;
    }
  }
}
`;
}
