package sweep_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/aws"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/awstest"
	"fairlead.dev/providers/infrastructure/aws/cloud"
	"fairlead.dev/test/run/kindstest"
	"fairlead.dev/test/run/life"
)

// clusterLife is that of a cluster on AWS.
type clusterLife struct {
	life.Life
	cloud  *awstest.Cloud
	client *awstest.Client
}

func newLife(t testing.TB, c *awstest.Cloud, cluster fleet.Cluster) *clusterLife {
	p := &clusterLife{Life: life.Life{TB: t, Cluster: cluster}, cloud: c}
	p.Start = func() {
		p.client = p.cloud.Client()
		p.Provider = aws.New(aws.Options{
			Cloud:  cloud.Options{Tick: 5 * time.Second, Base: p.client, Own: credentials.NewStaticCredentialsProvider(awstest.AccessKey, awstest.SecretKey, "")},
			Settle: 30 * time.Second,
		})
	}
	p.Dead, p.Look = func() bool { return p.client.Dead() }, p.noTwins
	p.Begin()
	return p
}

// object returns what the decoder makes of an object of kind with a spec in YAML.
func object(t testing.TB, kind, name, spec string) fleet.Object {
	t.Helper()
	normal, errs := kindstest.Normalised(t, kindstest.Kind(t, api.Kinds(), kind), "v1beta2", spec, nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	data, err := json.Marshal(normal)
	if err != nil {
		t.Fatal(err)
	}
	return fleet.Object{GVK: schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: kind}, Name: name, Namespace: "prod", Spec: data}
}

// newCluster returns a cluster of one machine in each pool.
func newCluster(t testing.TB, spec string) fleet.Cluster {
	template := object(t, "AWSMachineTemplate", "nodes", `{instanceType: m6i.large, iamInstanceProfile: nodes, rootVolume: {size: 30}}`)
	parameters := object(t, "AWSMachineTemplate", "nodes", `{instanceType: m6i.large, cloudInit: {secureSecretsBackend: ssm-parameter-store}}`)
	return fleet.Cluster{
		Fleet: "fleet-a", Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, Provider: api.ProviderName,
		Infrastructure: object(t, "AWSCluster", "eu-1", spec),
		ControlPlane:   fleet.Pool{Name: "eu-1-cp", Role: fleet.RoleControlPlane, Replicas: 1, Template: "1-cp", Version: "v1.34.1", Infrastructure: template},
		Workers:        []fleet.Pool{{Name: "eu-1-md-0", Role: fleet.RoleWorker, Replicas: 1, Template: "1-md", Version: "v1.34.1", Infrastructure: parameters}},
	}
}

// noTwins fails where the cluster has two instances of one name that both live.
func (p *clusterLife) noTwins() {
	p.Helper()
	seen := make(map[string]bool)
	for _, i := range p.cloud.Things(awstest.Instances) {
		name := i.Tags["fairlead.dev/machine"]
		if name == "" || i.Attr["state"] != "running" && i.Attr["state"] != "pending" {
			continue
		}
		if seen[name] {
			p.Errorf("there are two instances called %s", name)
		}
		seen[name] = true
	}
}

// inject lets the nth call that changes something go wrong.
func (p *clusterLife) inject(n int, f awstest.Fault) {
	f.Changes, f.Skip, f.Times = true, n-1, 1
	f.Do = func(awstest.Call) { p.Trouble = true }
	p.cloud.Inject(f)
}
