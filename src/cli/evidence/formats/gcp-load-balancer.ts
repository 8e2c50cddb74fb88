/** Google Cloud: external Application Load Balancer, as Cloud Logging exports it. */
import type { LogFormat } from './log-format.ts';
import { jsonFormat } from './parts/json-format.ts';

export const gcpLoadBalancer: LogFormat = jsonFormat({
  name: 'gcp-load-balancer',
  title: 'Google Cloud Load Balancer',
  keys: {
    time_iso8601: ['timestamp'],
    request_time: ['httpRequest.latency'],
    request_method: ['httpRequest.requestMethod'],
    request_uri: ['httpRequest.requestUrl'],
    remote_addr: ['httpRequest.remoteIp'],
    status: ['httpRequest.status'],
    http_user_agent: ['httpRequest.userAgent'],
  },
  marks: ['timestamp', 'httpRequest.requestUrl'],
  stampIs: 'start',
  precisionMs: 0.001,
  address: '`httpRequest.remoteIp`: the address that connected to the load balancer',
  samples: [
    '{"httpRequest":{"latency":"0.012300s","remoteIp":"203.0.113.9","requestMethod":"GET","requestSize":"120","requestUrl":"https://shop.example/search?q=1","responseSize":"512","serverIp":"10.0.0.5","status":200,"userAgent":"curl/8.5.0"},"insertId":"1abcdef2ghijk","jsonPayload":{"@type":"type.googleapis.com/google.cloud.loadbalancing.type.LoadBalancerLogEntry","statusDetails":"response_sent_by_backend"},"resource":{"type":"http_load_balancer"},"severity":"INFO","timestamp":"2026-01-05T10:20:30.123456Z"}',
  ],
  notes: [
    'The log is a sample if the backend service has a sample rate below 1: rates in it are then too low.',
    'The time is taken for the start of the request. If it is the end in your log, `--time-is end` subtracts the latency.',
    'One entry per line, as a sink writes them to Cloud Storage; not the list that the Logs Explorer downloads.',
  ],
});
