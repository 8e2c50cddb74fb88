import { describeCountingConnection } from '../../../../contract/counting-connection.contract.ts';
import { WAYS } from '../../../../support/stores.ts';

for (const way of WAYS) describeCountingConnection(way);
