package aws_test

import (
	"encoding/json"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/aws"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/awstest"
	"fairlead.dev/providers/infrastructure/aws/cloud"
	"fairlead.dev/test/run/kindstest"
)

const (
	settle = 30 * time.Second
	tick   = 5 * time.Second
)

// own are the agent's own credentials.
func own() awssdk.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider(awstest.AccessKey, awstest.SecretKey, "")
}

func newProvider(client *awstest.Client) *aws.Provider {
	return aws.New(aws.Options{Cloud: cloud.Options{Tick: tick, Base: client, Own: own()}, Settle: settle})
}

// slowly is a cloud in which everything takes its time.
func slowly() *awstest.Cloud {
	return awstest.New(awstest.Options{
		Limits: map[awstest.Kind]int{awstest.VPCs: 20, awstest.Addresses: 60}, Page: 3,
		Delays: awstest.Delays{Lag: 3 * time.Second, Start: 8 * time.Second, Terminate: 4 * time.Second, NAT: 20 * time.Second, Balancer: 10 * time.Second, Cluster: time.Minute, Nodegroup: 40 * time.Second, Update: 30 * time.Second},
	})
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
	return fleet.Object{
		GVK:  schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: kind},
		Name: name, Namespace: "prod", Spec: data,
	}
}

// The specs of most tests.
const (
	clusterSpec = `{region: eu-central-1, controlPlaneLoadBalancer: {loadBalancerType: nlb, healthCheckProtocol: HTTPS}}`
	machineSpec = `{instanceType: m6i.large, iamInstanceProfile: nodes, sshKeyName: ops, rootVolume: {size: 30}}`
)

// newCluster returns a cluster with these specs.
func newCluster(t testing.TB, spec, machine string) fleet.Cluster {
	t.Helper()
	template := object(t, "AWSMachineTemplate", "nodes", machine)
	return fleet.Cluster{
		Fleet: "fleet-a", Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, Provider: api.ProviderName,
		Infrastructure: object(t, "AWSCluster", "eu-1", spec),
		ControlPlane: fleet.Pool{
			Name: "eu-1-cp", Role: fleet.RoleControlPlane, Replicas: 3, Template: "1-cp", Version: "v1.34.1", Infrastructure: template,
		},
		Workers: []fleet.Pool{{
			Name: "eu-1-md-0", Role: fleet.RoleWorker, Replicas: 3, Template: "1-md", Version: "v1.34.1", Infrastructure: template,
		}},
	}
}
