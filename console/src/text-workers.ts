/** Texts about workers and the machines that they run on. */

export const WORKER_TEXTS = {
	workers: {
		worker: "Worker",
		state: "State",
		uptime: "Up for",
		jobs: "Jobs",
		launcher: "Runs on",
		usage: "Usage",
		cores: (count: string) => (count === "0" ? "CPU idle" : `${count} CPU`),
		memory: (used: string) => `${used} memory`,
		memoryOf: (used: string, all: string) => `${used} of ${all} memory`,
		processes: (count: number) => `${count} ${count === 1 ? "process" : "processes"}`,
		gpu: (id: string, model: string) => `GPU ${id}: ${model}`,
		busy: (percent: number) => `${percent} % busy`,
		external: "started elsewhere",
		sdk: "SDK",
		seen: "Last request",
		warning: "see note",
		limits: "Workers by endpoint",
		attached: (count: string) => `${count} attached`,
		always: "Always on",
		stop: "Stop",
		stopTitle: "Stop this worker?",
		stopBusy: (id: string) => `${id} gets no more jobs and is stopped when its current jobs are done.`,
		stopIdle: (id: string) => `${id} is stopped. Another worker starts when jobs need one.`,
		stopped: "The worker is stopping.",
		none: "No workers.",
		noneYet: "None runs now. The reason is above.",
		back: "Workers",
		noneAnywhere: "Workers start when jobs arrive, or when workersMin is above 0.",
		onDemand: "A worker starts when a job arrives.",
		attach: "Workers of this endpoint are started elsewhere.",
	},
	ended: {
		title: "Past workers",
		none: "No worker has ended yet. The last 50 of each endpoint are listed here, with how they ended and what they wrote last.",
		lastDay: (count: string, crashed: number) =>
			`${count} ended in the last 24 hours, ${crashed === 0 ? "none" : crashed} of them crashed.`,
		andMore: (count: string) => `and ${count} more`,
		times: (count: string, span: string) => `${count} times in ${span}.`,
		how: "How it ended",
		at: "Ended",
		lived: "Lived for",
		lines: "Last lines",
		lastLines: (worker: string) => `Last lines of ${worker}`,
		noLines: "It wrote nothing.",
		wholeLog: (worker: string) => `Whole log of ${worker}`,
		nextStart: "Next start:",
		startNow: "Start now",
		startsNow: "A worker starts now if jobs wait for one.",
	},
	health: {
		attention: "Needs attention",
		crashing: "Workers crash",
		no_workers: "No workers",
		hindered: "Workers missing",
		paused: "Paused",
		healthy: "Healthy",
		log: "Log",
		connect: "Connect a worker",
		receiver: (failures: number, reason: string) =>
			`failed ${failures === 1 ? "once" : `${failures} times in a row`}: ${reason.replace(/\.$/, "")}.`,
		moreReceivers: (count: number) => (count > 0 ? `And ${count} more.` : ""),
		showReceivers: "Show receivers",
		noWorkers: "Jobs wait, and no worker is attached or allowed.",
	},
	hosts: {
		for: "for",
		address: "Docker",
		version: "Docker version",
		disk: "Free disk",
		workers: "Workers",
		of: (workers: string, max: string) => `${workers} of ${max}`,
		noWorkers: "none",
		images: "Images",
		noImages: "none known",
		gpus: "GPUs",
		noGpus: "none known",
		gpusOf: (host: string) => `GPUs of ${host}`,
		model: "GPU",
		memory: "Memory",
		heldBy: "Used by",
		left: (memory: string) => `${memory} left for parts`,
		number: (id: string) => `GPU ${id}`,
		here: "This machine",
		free: "Free",
		otherService: "another service",
		drain: "Drain",
		drained: "Drained",
		draining: "The host gets no more workers.",
		drainTitle: (host: string) => `Drain ${host}?`,
		drainText: (workers: number) =>
			"No more workers start there until it is resumed. " +
			(workers === 0
				? "It has none now."
				: workers === 1
					? "Its worker finishes its jobs and is replaced on another host."
					: `Its ${workers} workers finish their jobs and are replaced on other hosts.`),
		resume: "Resume",
		resumed: "The host gets workers again.",
		resumeTitle: (host: string) => `Resume ${host}?`,
		resumeText: "Workers start there again when jobs need them.",
		noGpusHere: "0 GPUs are assigned to workers. To assign some, set gpus in sluice.yaml.",
		gpuGuide: "How GPUs are shared",
		none: "No other machines",
		how: "Workers can run on several machines with Docker. Add them to sluice.yaml and to an endpoint:",
		hostGuide: "How to add a machine",
		example: "Example for sluice.yaml",
		config: `publicUrl: http://192.168.1.10:8080
hosts:
  rig1:
    docker: ssh://sluice@rig1
endpoints:
  ocr:
    launcher:
      type: docker
      image: my-ocr-worker:1.2
      hosts: all`,
		mayNot: "Seeing GPUs and hosts requires an admin key.",
	},
} as const;
