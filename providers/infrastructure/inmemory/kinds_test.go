package inmemory

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/test/run/kindstest"
)

func TestNormalise(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		kind   string
		in     string
		want   string
		errs   []string
	}{
		"cluster": {
			reason: "an empty backend is chosen by being there",
			kind:   "DevCluster", in: `{"metadata":{"name":"x"},"spec":{"backend":{"inMemory":{}}}}`,
			want: `{"backend":{"inMemory":{}}}`,
		},
		"machine that stands alone": {
			reason: "it is read as the machine of a template is",
			kind:   "DevMachine", in: `{"metadata":{"name":"x"},"spec":{"backend":{"inMemory":{"vm":{"provisioning":{"startupDuration":"60s"}}}}}}`,
			want: `{"backend":{"inMemory":{"vm":{"provisioning":{"startupDuration":"1m0s"}}}}}`,
		},
		"machine without backend": {
			reason: "upstream would take docker",
			kind:   "DevMachine", in: `{"spec":{"backend":{}}}`,
			want: `null`, errs: []string{"spec.backend.inMemory"},
		},
		"cluster with a host": {
			reason: "the port that the field's description promises is filled in",
			kind:   "DevCluster", in: `{"spec":{"controlPlaneEndpoint":{"host":"127.0.0.9"},"backend":{"inMemory":{}}}}`,
			want: `{"controlPlaneEndpoint":{"host":"127.0.0.9","port":6443},"backend":{"inMemory":{}}}`,
		},
		"cluster without backend": {
			reason: "upstream would take docker",
			kind:   "DevCluster", in: `{"spec":{"backend":{}}}`,
			want: `{"backend":{}}`, errs: []string{"spec.backend.inMemory"},
		},
		"cluster with docker": {
			reason: "it is refused by Refused, once",
			kind:   "DevCluster", in: `{"spec":{"backend":{"docker":{"loadBalancer":{"imageTag":"v1"}}}}}`,
			want: `{"backend":{}}`,
		},
		"cluster with a wrong port": {
			reason: "there is no such port",
			kind:   "DevCluster", in: `{"spec":{"controlPlaneEndpoint":{"host":"127.0.0.9","port":65536},"backend":{"inMemory":{}}}}`,
			want: `{"controlPlaneEndpoint":{"host":"127.0.0.9","port":65536},"backend":{"inMemory":{}}}`,
			errs: []string{"spec.controlPlaneEndpoint.port"},
		},
		"template": {
			reason: "equal durations are written equally, parts that say nothing are left out",
			kind:   "DevMachineTemplate",
			in: `{"spec":{"template":{"spec":{"backend":{"inMemory":{"vm":{"provisioning":{"startupDuration":"60s","startupJitter":"0.20"}},
				"etcd":{"provisioning":{"startupDuration":"1m"}},"node":{}}}}}}}`,
			want: `{"backend":{"inMemory":{"vm":{"provisioning":{"startupDuration":"1m0s","startupJitter":"0.2"}},"etcd":{"provisioning":{"startupDuration":"1m0s"}}}}}`,
		},
		"template with wrong values": {
			reason: "each is named",
			kind:   "DevMachineTemplate",
			in: `{"spec":{"template":{"spec":{"backend":{"inMemory":{
				"vm":{"provisioning":{"startupDuration":"ten"}},
				"node":{"provisioning":{"startupDuration":"-1s","startupJitter":"-1"}},
				"etcd":{"provisioning":{"startupDuration":"1s","startupJitter":"NaN"}},
				"apiServer":{"provisioning":{}}}}}}}}`,
			errs: []string{
				"spec.template.spec.backend.inMemory.vm.provisioning.startupDuration",
				"spec.template.spec.backend.inMemory.node.provisioning.startupDuration",
				"spec.template.spec.backend.inMemory.node.provisioning.startupJitter",
				"spec.template.spec.backend.inMemory.apiServer.provisioning.startupDuration",
				"spec.template.spec.backend.inMemory.etcd.provisioning.startupJitter",
			},
		},
		"template without backend": {
			reason: "upstream would take docker",
			kind:   "DevMachineTemplate", in: `{"spec":{"template":{"spec":{"backend":{}}}}}`,
			want: `null`, errs: []string{"spec.template.spec.backend.inMemory"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := kindstest.Kind(t, Kinds(), tc.kind)
			for _, version := range []string{"v1beta1", "v1beta2"} {
				spec, errs := k.Normalise(kindstest.Object(t, k, version, tc.in))
				var fields []string
				for _, e := range errs {
					fields = append(fields, e.Field)
				}
				if d := cmp.Diff(tc.errs, fields); d != "" {
					t.Errorf("errors (%s): %s\n%v", tc.reason, d, errs)
				}
				if tc.want == "" {
					continue
				}
				got, err := json.Marshal(spec)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(tc.want, string(got)); d != "" {
					t.Errorf("spec (%s): %s", tc.reason, d)
				}
			}
		})
	}
}

// TestRefusedFieldsDecode: the decoder refuses them by name, so they must not
// be unknown.
func TestRefusedFieldsDecode(t *testing.T) {
	for kind, in := range map[string]string{
		"DevCluster": `{"apiVersion":"x","kind":"DevCluster","metadata":{"name":"a"},"spec":{"backend":{"docker":{"failureDomains":[{"name":"a"}]}}},"status":{"ready":true}}`,
		"DevMachineTemplate": `{"spec":{"template":{"metadata":{"labels":{"a":"b"}},"spec":{"providerID":"x",
			"backend":{"docker":{"customImage":"kindest/node"}}}}}}`,
	} {
		kindstest.Object(t, kindstest.Kind(t, Kinds(), kind), "v1beta1", in)
	}
}
