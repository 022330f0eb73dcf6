/** Lines that start a worker anywhere and attach it to an endpoint; they hold a worker token. */

export interface WorkerPlace {
	endpoint: string;
	/** Variables of the worker, without its id. */
	env: Readonly<Record<string, string>>;
	/** The container image of the worker. */
	image: string;
	/** The service is reached on this machine only. */
	loopback: boolean;
}

/** For a POSIX shell; a literal `$ID` must reach the worker (protocol B.1). */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const lines = (env: Readonly<Record<string, string>>, line: (name: string, value: string) => string): string =>
	Object.entries(env)
		.map(([name, value]) => line(name, value))
		.join("\n");

/** A name that Kubernetes accepts. */
const kubernetesName = (endpoint: string): string =>
	`${
		endpoint
			.toLowerCase()
			.replaceAll("_", "-")
			.replace(/^-+|(?<!-)-+$/g, "") || "sluice"
	}-worker`;

export const WORKER_SNIPPETS = [
	{
		id: "docker",
		name: "docker run",
		text: ({ endpoint, env, image, loopback }: WorkerPlace): string =>
			[
				`docker run --rm${loopback ? " --network host" : ""}`,
				...Object.entries(env).map(([name, value]) => `-e ${quoted(`${name}=${value}`)}`),
				`-e RUNPOD_POD_ID="${endpoint}-$(hostname)-$(date +%s)"`,
				image,
			].join(" \\\n  "),
	},
	{
		id: "compose",
		name: "Compose",
		text: ({ endpoint, env, image, loopback }: WorkerPlace): string => `services:
  ${endpoint}-worker:
    image: ${image}
    restart: unless-stopped${loopback ? "\n    network_mode: host" : ""}
    environment:
${lines(env, (name, value) => `      ${name}: ${JSON.stringify(value.replaceAll("$", "$$$$"))}`)}
      RUNPOD_POD_ID: ${endpoint}-compose-1  # unique for each worker`,
	},
	{
		id: "shell",
		name: "Shell",
		text: ({ endpoint, env }: WorkerPlace): string =>
			`${lines(env, (name, value) => `export ${name}=${quoted(value)}`)}
export RUNPOD_POD_ID="${endpoint}-$(hostname)-$$"
python3 handler.py`,
	},
	{
		id: "kubernetes",
		name: "Kubernetes",
		text: ({ endpoint, env, image }: WorkerPlace): string => {
			const name = kubernetesName(endpoint);
			return `apiVersion: v1
kind: Secret
metadata:
  name: ${name}
stringData:
${lines(env, (variable, value) => `  ${variable}: ${JSON.stringify(value)}`)}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${name}
spec:
  replicas: 1
  selector:
    matchLabels: { app: ${name} }
  template:
    metadata:
      labels: { app: ${name} }
    spec:
      containers:
        - name: worker
          image: ${image}
          envFrom:
            - secretRef: { name: ${name} }
          env:
            - name: RUNPOD_POD_ID
              valueFrom: { fieldRef: { fieldPath: metadata.name } }`;
		},
	},
] as const;

/** Whether an address leads to the machine itself. */
export function isLoopback(address: string): boolean {
	if (!URL.canParse(address)) return false;
	const { hostname } = new URL(address);
	return hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
}
