/** Pods of a real cluster whose node has two GPUs of a pretended kind; its API server knows which Pods have one. */
import { randomUUID } from "node:crypto";
import { type Pod, workerOf } from "../../src/modules/kubernetes/pods/pod-status.ts";
import { IMAGE, makeImage } from "../../test/support/docker.ts";
import { addToNode, DOCKER, LAUNCHER, namespace, noKubernetes, ON_NODE } from "../../test/support/kubernetes.ts";
import { type Open, PROGRAM, ROOT, type Share, wholes } from "./platform.ts";

export const open: Open = async ({ folder }) => {
	if (noKubernetes !== undefined) throw new Error(noKubernetes);
	await makeImage(DOCKER);
	const place = await namespace(`sluice-${randomUUID().slice(0, 8)}`);
	const gpuResource = `bench.example.com/${place.name}`;
	await addToNode(place, gpuResource, "2");

	function sharesOf(pod: Pod): Share[] {
		const { spec, status } = pod;
		const gpu = spec?.nodeName;
		// What the scheduler counts.
		if (gpu === undefined || status?.phase === "Succeeded" || status?.phase === "Failed") return [];
		const amount = Number(spec?.containers?.[0]?.resources?.limits?.[gpuResource]);
		return [{ worker: workerOf(pod)!, gpu, amount }];
	}

	const launcher = {
		type: "kubernetes",
		namespace: place.name,
		image: IMAGE,
		imagePullPolicy: "Never",
		command: ["/bin/node", PROGRAM],
		volumes: [`${ROOT}:${ROOT}:ro`, `${folder}:${folder}`],
		runAsUser: 0,
		podTemplate: ON_NODE,
		gpuResource,
	};
	return {
		endpoints: wholes(launcher),
		capacity: 2,
		unit: "GPUs",
		service: { env: { KUBECONFIG: LAUNCHER } },
		shares: async () => (await place.pods()).flatMap(sharesOf),
		close: () => place.remove(),
	};
};
