# Fairlead. `make help` lists what there is.
SHELL := /bin/bash
# What is tested is what is built, with a C compiler on the machine or without.
export CGO_ENABLED ?= 0
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# What one target compiled is there for the next: all of them compile alike.
export GOFLAGS ?= -trimpath
LDFLAGS := -s -w -X main.version=$(VERSION)
# The package that takes longest begins first: it is not what the others wait for at the end.
PKGS    := ./test/system/cli ./...
TOOL    := go tool -modfile=tools/go.mod
FUZZTIME ?= 30s
SOAKTIME ?= 60s
# Where make image and make chart write to.
IMAGE_OUT ?= bin/image
CHART_OUT ?= bin
# ko builds the image on a base that tools/release/image makes.
IMAGE = ko=$$(go run ./test/lab/kube/binaries/build ko) && cd tools/release && go run ./image -ko $$ko -root ../.. \
	-version $(VERSION) -revision $$(git rev-parse HEAD) -created $$(git log -1 --format=%ct)

.PHONY: help
help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  \033[1m%-20s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/fairlead
	go build -trimpath -ldflags '$(LDFLAGS)' -o bin/fairlead ./agent/cmd/fairlead

.PHONY: build-costs
build-costs: ## build with an empty cache and print what each dependency costs (some minutes, Linux)
	@go run ./test/bench/costs

.PHONY: cross
cross: ## see that it builds for Linux, macOS and Windows, on amd64 and arm64 (about 15 minutes with a cold cache)
	@set -e; for os in linux darwin windows; do for arch in amd64 arm64; do echo "== $$os/$$arch"; \
	  CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch go build -o /dev/null ./agent/cmd/fairlead; done; done

.PHONY: demo
demo: ## a push becomes running clusters and a status commit, on the in-memory infrastructure
	go build -trimpath -ldflags '$(LDFLAGS)' -o bin/demo ./agent/cmd/demo
	bin/demo

.PHONY: demo-docker
demo-docker: ## the same with a real Kubernetes in containers of Docker or podman (DOCKER_HOST); NODE_IMAGES="v1.34.0=IMAGE …" names other images than kind's
	go build -trimpath -ldflags '$(LDFLAGS)' -o bin/demo ./agent/cmd/demo
	bin/demo --docker $(addprefix --node-image ,$(NODE_IMAGES)) $(addprefix --haproxy-image ,$(HAPROXY_IMAGE))

# Compilers and short processes spend a third of their time on collecting garbage.
test test-all: export GOGC ?= 400
# Some packages wait more than they compute, so one more runs than there are cores.
AT_ONCE ?= $(shell echo $$((1 + $$(getconf _NPROCESSORS_ONLN))))
# Packages whose tests take longer than 20 s in `make test` with nothing but Go, git and make, on two cores with
# warm caches, the slowest first (`make test-times` prints them):
#   test/system/cli                            fifty scripts, each with programs that poll one another
#   sources/git                         real Git servers, and histories of thousands of commits
#   test/long/simulation, reconcile, reconcile/plan   random lives and worlds
#   test/bench/benchfleet, test/rules/promise, test/system/sites, test/system/hostile, agent/wiring   agents of the whole program
#   providers/infrastructure/vsphere, vspheretest/sweep   a simulated vCenter for nearly each test
#   providers/infrastructure/metal3, openstack, openstack/network   the suite of checks, and crashes at each call
#   sources/status                      real Git servers, and writers that race
RUN_TESTS = set -o pipefail; go test -vet=off -p $(AT_ONCE) -timeout 30m -json $(PKGS) | go run ./test/run/report -keep bin/test-times.json

.PHONY: test
test: ## run the tests: what a change must pass
	@needs=$$(test/run/needs/missing); [ -z "$$needs" ] || echo "some tests skip until you apt-get install" $$needs >&2
	@$(RUN_TESTS)

.PHONY: test-all
test-all: export FAIRLEAD_TEST_ALL = 1
test-all: ## run the tests in their whole form: more random histories, more crash points, larger fleets
	@$(RUN_TESTS)

.PHONY: test-times
test-times: ## print the ten slowest packages of the last `make test` or `make test-all`, and the sum of all
	@go run ./test/run/report -times bin/test-times.json

.PHONY: race
race: ## run the tests with the race detector
	CGO_ENABLED=1 go test -race -timeout 60m $(PKGS)

.PHONY: lint
lint: ## run golangci-lint with the rules of .golangci.yml, and check the words of pages, help and messages
	$(TOOL) golangci-lint run
	go test ./test/rules/words

.PHONY: generate
generate: ## write again what is generated: coverage, CLI, metrics and alerts pages, golden files
	go generate ./...
	UPDATE=1 go test ./agent/observability/metrics ./agent/console/cli -run Generated -count=1
	UPDATE=1 go test ./test/system/alerts -run Generated -count=1
	UPDATE=1 go test ./test/rules/promise -run 'TestAPI|TestGuide' -count=1
	go test ./sources/status -run TestDocs -count=1 -update
	go test ./providers/distribution/kubeadm -run Golden -count=1 -update

.PHONY: screenshots
screenshots: ## take the pictures of docs/guides/fleet/page.md (needs Chromium)
	UPDATE=1 go test ./test/system/page -run Pictures -count=1

.PHONY: test-page
test-page: ## look at each view of the page in Chromium, and keep the screenshots in bin/page
	mkdir -p bin/page
	go test ./test/system/page -count=1 -artifacts -outputdir $(CURDIR)/bin/page

.PHONY: bench-page
bench-page: ## measure the page: first paint of 1,000 and 10,000 clusters, what is sent, and 100 open tabs (needs Chromium)
	FAIRLEAD_MEASURE=1 go test ./test/system/page -run 'TestMeasure(Paint|Tabs)' -count=1 -v
	go test ./agent/console/page -run none -bench .

.PHONY: verify
verify: generate ## regenerate and fail on a difference
	go mod tidy -diff
	git diff --exit-code

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME (default 30s)
	@set -e; grep -rl --include=*_test.go '^func Fuzz' . | xargs -n1 dirname | sort -u | while read -r d; do \
	  for f in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' $$d/*_test.go | sed 's/func //'); do \
	    echo "== $$d $$f"; go test $$d -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME); done; done

.PHONY: properties
properties: ## let the planner's safety properties try thousands of new worlds (about 5 minutes)
	go test ./reconcile/plan -count=1 -timeout 60m -rapid.seed=0 -rapid.checks=2000

.PHONY: sweep
sweep: ## crash agents at every single call of a cluster's life, and of a fleet's move (about two hours; needs `make kube`)
	FAIRLEAD_SWEEP=all go test ./reconcile ./providers/infrastructure/openstack/openstacktest/sweep ./providers/infrastructure/vsphere/vspheretest/sweep ./providers/infrastructure/metal3 ./agent/wiring -run Sweep -timeout 120m -v
	FAIRLEAD_SWEEP=all go test ./test/system/pivot -timeout 120m -v

.PHONY: soak
soak: build ## a fleet through bad days for SOAKTIME (default 60s): kills, lost answers, random pushes; KEYS=yes signs all, and withdraws keys
	go run ./test/long/soak -fairlead bin/fairlead -for $(SOAKTIME) $(if $(KEYS),-keys)

.PHONY: simulation
simulation: ## seeded random lives of fleets in simulated time, for SOAKTIME; a life that fails says how to live it again
	go test ./test/long/simulation -run TestLives -count=1 -timeout 0 -v -for=$(SOAKTIME)

.PHONY: simulation-guards
simulation-guards: ## break Fairlead in one way after the other, and see that the guard that is there for it notices within 120 lives (about 10 minutes)
	go test ./test/long/simulation -run TestGuards -count=1 -timeout 0 -v -guards -lives=120

.PHONY: test-ha
test-ha: ## kill and stop replicas of the real program, and their kube-apiserver (about 8 minutes; needs `make kube`)
	FAIRLEAD_TEST_HA=1 go test ./test/long/ha -count=1 -timeout 40m -v

.PHONY: soak-ha
soak-ha: ## replicas through bad days for SOAKTIME: kills, stops, API outages, pushes (needs `make kube`)
	FAIRLEAD_HA_SOAK=$(SOAKTIME) go test ./test/long/ha -run Soak -count=1 -timeout 0 -v

.PHONY: bench-ha
bench-ha: ## measure take-overs and pushes with replicas; docs/operations/high-availability.md and docs/operations/performance.md have the figures (about 20 minutes)
	FAIRLEAD_HA_MEASURE=1 go test ./test/long/ha -run Measure -count=1 -timeout 0 -v

.PHONY: test-chart
test-chart: ## run the agent from its image as the chart installs it; take its rights one by one; upgrade it (about 10 minutes; needs `make kube`)
	FAIRLEAD_TEST_CHART=1 go test ./test/system/chart -count=1 -timeout 60m -v

.PHONY: test-kubeadm
test-kubeadm: ## hold what is written for kubeadm against kubeadm of every minor version, and an upgrade against kubeadm's own (builds what is missing, 3 minutes each)
	go run ./test/lab/kube/binaries/build kubeadm-1.33 kubeadm-1.34 kubeadm-1.35 kubeadm-1.36
	go test ./providers/distribution/kubeadm ./providers/workload -run 'Kubeadm|RealUpgrade' -count=1 -v

.PHONY: test-autoscaler
test-autoscaler: ## run the cluster-autoscaler that FAIRLEAD_CLUSTER_AUTOSCALER names against an agent (40 s; needs kubectl; docs/guides/clusters/autoscaler.md)
	@test -x "$$FAIRLEAD_CLUSTER_AUTOSCALER" || { echo "set FAIRLEAD_CLUSTER_AUTOSCALER to a cluster-autoscaler: docs/guides/clusters/autoscaler.md says how to build one"; exit 1; }
	go test ./test/system/cli -run '^TestAutoscaler$$' -count=1 -v

.PHONY: lab-openstack-up
lab-openstack-up: ## start real OpenStack services on this machine (Debian 12, root); docs/contributing/lab-openstack.md
	test/lab/openstack/up

.PHONY: lab-openstack-down
lab-openstack-down: ## stop them; their state is kept
	test/lab/openstack/down

.PHONY: lab-openstack-reset
lab-openstack-reset: ## put them back to how they were after their first start
	test/lab/openstack/up --reset

.PHONY: test-openstack
test-openstack: ## test all of it on the services that lab-openstack-up started
	FAIRLEAD_TEST_OPENSTACK=1 go test ./test/lab/openstack/lab -count=1
	FAIRLEAD_TEST_OPENSTACK=1 go test ./providers/infrastructure/openstack/... -run 'OnTheLab|SameAsLab' -count=1 -p 1 -timeout 60m
	FAIRLEAD_TEST_OPENSTACK=1 go test ./test/e2e/openstack -count=1 -parallel 3 -timeout 60m

.PHONY: lab-vsphere-up
lab-vsphere-up: ## start a simulated vCenter on a port of this machine; LAB=default has its VMs be machines of that Kubernetes lab; docs/contributing/lab-vsphere.md
	go run ./test/lab/vsphere up $(if $(LAB),-machines $(LAB))

.PHONY: lab-vsphere-down
lab-vsphere-down: ## stop it; what was on it is lost
	go run ./test/lab/vsphere down

.PHONY: lab-aws-up
lab-aws-up: ## start a double of AWS on a port of this machine; docs/contributing/lab-aws.md
	go run ./test/lab/doubles/aws up

.PHONY: test-aws-sdk
test-aws-sdk: ## compare each request to AWS with that of its SDK, and drive the double with the SDK (a module of its own: minutes to compile)
	go -C providers/infrastructure/aws/awstest/sdk test ./... -count=1

.PHONY: lab-aws-down
lab-aws-down: ## stop it; what was on it is lost
	go run ./test/lab/doubles/aws down

.PHONY: lab-azure-up
lab-azure-up: ## start a double of Azure behind a proxy on a port of this machine; docs/contributing/lab-azure.md
	go run ./test/lab/doubles/azure up

.PHONY: lab-azure-down
lab-azure-down: ## stop it; what was on it is lost
	go run ./test/lab/doubles/azure down

.PHONY: lab-maas-up
lab-maas-up: ## start a double of MAAS with N (default 6) hosts on a port of this machine; LAB=default has them be machines of that Kubernetes lab; docs/contributing/lab-maas.md
	go run ./test/lab/doubles/maas up -n $(or $(N),6) $(if $(LAB),-machines $(LAB))

.PHONY: lab-maas-down
lab-maas-down: ## stop it; what was on it is lost
	go run ./test/lab/doubles/maas down

.PHONY: lab-docker-up
lab-docker-up: ## start podman with the API of Docker and node images of the Kubernetes lab (root; needs `make lab-images`); docs/contributing/lab-docker.md
	go run ./test/lab/docker up

.PHONY: lab-docker-down
lab-docker-down: ## stop it; its containers are lost
	go run ./test/lab/docker down

.PHONY: lab-metal-up
lab-metal-up: ## start a real Ironic with N (default 6) hosts whose BMCs are simulated; LAB=default has them be machines of that Kubernetes lab; docs/contributing/lab-metal.md
	go run ./test/lab/metal up -n $(or $(N),6) $(if $(LAB),-machines $(LAB))

.PHONY: lab-metal-down
lab-metal-down: ## stop it; what was on it is lost
	go run ./test/lab/metal down

.PHONY: lab-images
lab-images: ## make what machines of the Kubernetes lab are made of: two minors, from Debian packages and Go modules (root, once; docs/contributing/lab.md)
	go run ./test/lab/kubernetes/cmd images

.PHONY: lab-up
lab-up: ## start N (default 5) machines with systemd, sshd, cloud-init and kubeadm on this host (root; needs `make lab-images`)
	go run ./test/lab/kubernetes/cmd up $(or $(N),5)

.PHONY: lab-down
lab-down: ## remove them, and all that they left on the host
	go run ./test/lab/kubernetes/cmd down

.PHONY: test-lab
test-lab: ## test the machines themselves: power, reboot, new disks, what a crash leaves (root; needs `make lab-images`)
	FAIRLEAD_TEST_LAB=1 go test ./test/lab/kubernetes/lab ./test/lab/vsphere/guests ./test/lab/metal/guests ./test/lab/doubles/maas/guests -count=1 -p 1 -timeout 30m -v

.PHONY: lab-vm
lab-vm: ## boot the lab's node image once as a machine of QEMU, with KVM or emulated, to a node that is Ready (root; needs `make lab-images`, qemu-system-x86, e2fsprogs and xorriso)
	go test -c -o bin/lab-vm.test ./test/lab/kubernetes/vm
	cd test/lab/kubernetes/vm && FAIRLEAD_TEST_VM=$(or $(LABVM),yes) $(abspath bin/lab-vm.test) -test.v -test.timeout 90m

.PHONY: e2e
e2e: build ## from a Git push to real clusters on machines of the lab, and through their life; E2E=short for the first test alone, E2E=TestPivot for one of them (root; needs `make lab-images`)
	$(if $(filter short,$(E2E)),,@$(IMAGE) -platforms linux/$(shell go env GOARCH) -out $(abspath bin/e2e-image))
	FAIRLEAD_TEST_E2E=$(abspath bin/fairlead) FAIRLEAD_TEST_E2E_IMAGE=$(abspath bin/e2e-image) \
		go test ./test/e2e -count=1 -timeout 120m -v -run '$(if $(filter short,$(E2E)),^TestLife$$,$(or $(E2E),.))'

.PHONY: test-mixed
test-mixed: build ## clusters with machines on both labs: servers of OpenStack that boot, and hosts (root; needs `make lab-images lab-openstack-up`)
	FAIRLEAD_TEST_E2E=$(abspath bin/fairlead) FAIRLEAD_TEST_OPENSTACK=1 go test ./test/e2e -count=1 -timeout 120m -v -run '^$(or $(MIXED),TestMixed)'

.PHONY: e2e-vsphere
e2e-vsphere: build ## clusters on VMs of a simulated vCenter that boot as machines of the lab, their life and the agent in one of them; VSPHERE=TestVSphereOne for one of the tests (root; needs `make lab-images`)
	@$(IMAGE) -platforms linux/$(shell go env GOARCH) -out $(abspath bin/e2e-image)
	FAIRLEAD_TEST_E2E=$(abspath bin/fairlead) FAIRLEAD_TEST_E2E_IMAGE=$(abspath bin/e2e-image) FAIRLEAD_TEST_VSPHERE=1 \
		go test ./test/e2e -count=1 -timeout 120m -v -run '^$(or $(VSPHERE),TestVSphere.*)$$'

.PHONY: e2e-docker
e2e-docker: build ## clusters in containers of podman, with kubeadm, and their life; DOCKER=TestDockerOne for one of the tests (root; needs `make lab-images` and the packages of docs/contributing/lab-docker.md)
	FAIRLEAD_TEST_E2E=$(abspath bin/fairlead) FAIRLEAD_TEST_E2E_DOCKER=1 \
		go test ./test/e2e -count=1 -timeout 60m -v -run '^$(or $(DOCKER),TestDocker.*)$$'

.PHONY: e2e-metal
e2e-metal: build ## clusters on hosts of a real Ironic that boot as machines of the lab, and their life; METAL=TestMetalOne for one of the tests (root; needs `make lab-images` and the packages of docs/contributing/lab-metal.md)
	@$(IMAGE) -platforms linux/$(shell go env GOARCH) -out $(abspath bin/e2e-image)
	FAIRLEAD_TEST_E2E=$(abspath bin/fairlead) FAIRLEAD_TEST_E2E_IMAGE=$(abspath bin/e2e-image) FAIRLEAD_TEST_METAL=1 \
		go test ./test/e2e -count=1 -timeout 120m -v -run '^$(or $(METAL),TestMetal.*)$$'

.PHONY: e2e-maas
e2e-maas: build ## clusters on hosts of a double of MAAS that boot as machines of the lab, and their life; MAAS=TestMAASOne for one of the tests (root; needs `make lab-images`)
	FAIRLEAD_TEST_E2E=$(abspath bin/fairlead) FAIRLEAD_TEST_MAAS=1 \
		go test ./test/e2e -count=1 -timeout 60m -v -run '^$(or $(MAAS),TestMAAS.*)$$'

.PHONY: e2e-aws
e2e-aws: build ## clusters on instances of a double of AWS that boot as machines of the lab, and their life; AWS=TestAWSOne for one of the tests (root; needs `make lab-images`)
	FAIRLEAD_TEST_E2E=$(abspath bin/fairlead) FAIRLEAD_TEST_AWS=1 \
		go test ./test/e2e -count=1 -timeout 60m -v -run '^$(or $(AWS),TestAWS.*)$$'

.PHONY: e2e-azure
e2e-azure: build ## clusters on VMs of a double of Azure that boot as machines of the lab, and their life; AZURE=TestAzureOne for one of the tests (root; needs `make lab-images`)
	FAIRLEAD_TEST_E2E=$(abspath bin/fairlead) FAIRLEAD_TEST_AZURE=1 \
		go test ./test/e2e -count=1 -timeout 60m -v -run '^$(or $(AZURE),TestAzure.*)$$'

# Where test-upgrade has agents take the place of each other.
ON ?= memory hosts openstack

.PHONY: test-upgrade
test-upgrade: build ## an agent of the commit OLD is replaced by this one, and this one by it, in memory and on all labs; ON=hosts for one of memory, hosts, openstack, vsphere, metal
	@test -n "$(OLD)" || { echo "say which commit: make test-upgrade OLD=v1.2.3"; exit 2; }
	rm -rf bin/old && mkdir -p bin/old && git archive $(OLD) | tar -x -C bin/old
	cd bin/old && CGO_ENABLED=0 go build -trimpath -o $(abspath bin/fairlead-old) ./agent/cmd/fairlead
	rm -rf bin/old
	$(if $(filter memory,$(ON)),$(OTHER) go test ./test/system/takeover -count=1 -timeout 20m -v)
	$(if $(filter hosts,$(ON)),$(OTHER) FAIRLEAD_TEST_E2E=$(abspath bin/fairlead) go test ./test/e2e -count=1 -timeout 60m -v -run '^TestTakeover$$')
	$(if $(filter openstack,$(ON)),$(OTHER) FAIRLEAD_TEST_OPENSTACK=1 go test ./test/e2e/openstack -count=1 -timeout 60m -v -run '^(TestTakeover|TestAfterReleased)$$')
	$(if $(filter vsphere,$(ON)),$(OTHER) FAIRLEAD_TEST_E2E=$(abspath bin/fairlead) FAIRLEAD_TEST_VSPHERE=1 go test ./test/e2e -count=1 -timeout 60m -v -run '^TestVSphereTakeover$$')
	$(if $(filter metal,$(ON)),$(OTHER) FAIRLEAD_TEST_E2E=$(abspath bin/fairlead) FAIRLEAD_TEST_METAL=1 go test ./test/e2e -count=1 -timeout 60m -v -run '^TestMetalTakeover$$')

test-upgrade: OTHER = FAIRLEAD_TEST_RELEASED=$(abspath bin/fairlead-old) FAIRLEAD_TEST_PROGRAM=$(abspath bin/fairlead)

.PHONY: e2e-k3s
e2e-k3s: build ## the same with the real K3s, where FAIRLEAD_K3S names its binary, and FAIRLEAD_K3S_IMAGES the archive of its images (root; needs `make lab-images`)
	$(if $(FAIRLEAD_K3S),FAIRLEAD_TEST_E2E=$(abspath bin/fairlead) FAIRLEAD_K3S=$(abspath $(FAIRLEAD_K3S)) )go test ./test/e2e -count=1 -timeout 60m -v -run '^TestK3s$$'

.PHONY: kube
kube: ## build the Kubernetes API server, etcd, helm and others that tests run, once for all checkouts (test/lab/kube)
	go run ./test/lab/kube/binaries/build

.PHONY: gitea
gitea: ## build Gitea, which test/lab/gitea runs, once for all checkouts (11 minutes of a core)
	go run ./test/lab/gitea/build

.PHONY: test-forge
test-forge: ## plan pull requests on a real Gitea, and kill the agent at each call of it (about 25 minutes; needs `make gitea`)
	FAIRLEAD_TEST_FORGE=1 go test ./test/lab/gitea -count=1 -timeout 60m -v

.PHONY: prometheus
prometheus: ## fetch the programs of Prometheus and Alertmanager that tests run (Debian)
	test/system/alerts/install

.PHONY: test-alerts
test-alerts: prometheus ## let a real Prometheus and Alertmanager watch agents to which bad things happen (about 5 minutes)
	FAIRLEAD_TEST_ALERTS=1 go test ./test/system/alerts -count=1 -timeout 30m -parallel 6 -v

.PHONY: image
image: ## build the image (amd64, arm64) into bin/image, an OCI layout, with its SBOM beside it
	@$(IMAGE) -out $(abspath $(IMAGE_OUT))

.PHONY: image-push
image-push: ## push it: make image-push IMAGE_REPO=registry.example.com/platform/fairlead
	@test -n "$(IMAGE_REPO)" || { echo "say where: make image-push IMAGE_REPO=registry.example.com/platform/fairlead"; exit 1; }
	@$(IMAGE) -push $(IMAGE_REPO)

.PHONY: chart
chart: ## pack the Helm chart of this version into bin/
	@go run ./charts/pack -version $(VERSION) -out $(CHART_OUT)

.PHONY: bench
bench: ## run the Go benchmarks
	go test -run '^$$' -bench . -benchmem $(PKGS)

.PHONY: bench-fleet
bench-fleet: build ## measure whole fleets; BASE=<commit> compares with it pair by pair, BENCH=<pattern> names some; docs/operations/performance.md has the figures
	$(if $(BASE),rm -rf bin/base && mkdir -p bin/base && git archive $(BASE) | tar -x -C bin/base)
	$(if $(BASE),cd bin/base && go build -trimpath -ldflags '$(LDFLAGS)' -o fairlead ./agent/cmd/fairlead)
	go run ./test/bench/benchfleet -fairlead bin/fairlead $(if $(BASE),-base bin/base/fairlead) -run '$(BENCH)'

.PHONY: bench-capi
bench-capi: build ## measure Cluster API, and Fairlead beside it: CLUSTERS=10,50,100 (needs `make kube`; builds Cluster API's managers once, some minutes; docs/operations/performance.md has the figures)
	go build -trimpath -o bin/benchfleet ./test/bench/benchfleet
	go run ./test/bench/benchcapi -benchfleet bin/benchfleet -fairlead bin/fairlead $(if $(CLUSTERS),-clusters $(CLUSTERS))

.PHONY: waves
waves: build ## change a class under 1,000 clusters in five stages: never more at once than may be, halted by one that fails, released, done (some minutes)
	go run ./test/bench/benchfleet -fairlead bin/fairlead -run 'waves-1000$$'

.PHONY: cover
cover: ## run the tests with coverage and print the total
	go test -coverprofile=cover.out -coverpkg=./... $(PKGS)
	go tool cover -func=cover.out | tail -1

.PHONY: clean
clean: ## remove what was built
	rm -rf bin dist cover.out
