package aws_test

import (
	"strings"
	"testing"
	"time"

	"fairlead.dev/providers/infrastructure/aws/awstest"
)

// TestThrottled: looks of several requests succeed where AWS leaves the agent one of each kind in a second, and all that Git has is made.
func TestThrottled(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		for _, a := range strings.Fields("DescribeVpcs DescribeSubnets DescribeInstances DescribeCluster ListNodegroups DescribeNodegroup ListAddons DescribeAddon CreateAddon ListFargateProfiles DescribeFargateProfile " +
			"CreateFargateProfile ListIdentityProviderConfigs DescribeIdentityProviderConfig ListAccessEntries DescribeAccessEntry ListAssociatedAccessPolicies CreateNodegroup UpdateClusterConfig") {
			w.cloud.Limit(a, 1, 1)
		}
		w.fargate(systemPods, batchPods)
		w.change("{", "{"+identityProvider+"logging: {apiServer: true}, addons: [{name: coredns, version: v1.33.0-eksbuild.1}, {name: vpc-cni, version: v1.33.0-eksbuild.1}], ")
		w.rest()
		time.Sleep(time.Minute)
		w.rest()
		if n := len(w.cloud.Things(awstest.Addons)) + len(w.cloud.Things(awstest.FargateProfiles)) + len(w.cloud.Things(awstest.IdentityProviders)); n != 5 {
			t.Errorf("%d things", n)
		}
		w.errs = nil
		for range 20 {
			if s, _ := w.look(); !s.Ready && len(w.errs) == 0 {
				t.Errorf("%+v", s)
			}
		}
		if len(w.errs) > 4 {
			t.Errorf("%d of 20 looks failed: %v", len(w.errs), w.errs)
		}
	})
}
