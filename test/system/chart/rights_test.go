package chart

import (
	"errors"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/test/lab/kube"
)

// The agent as the chart installs it does its work, and none of its rights can
// be taken from it.
func TestRightsAreEnoughAndNoMore(t *testing.T) {
	long(t)
	k := kube.Start(t)
	program(t, "helm")
	agentImage(t, version)

	t.Run("all rights", func(t *testing.T) {
		s := newSite(t, k)
		if err := s.live(s.start()); err != nil {
			t.Error(err)
		}
	})
	t.Run("in its own namespace alone", func(t *testing.T) {
		s := newSite(t, k, "--set", "rbac.allNamespaces=false")
		s.moveTo(s.namespace)
		if err := s.live(s.start()); err != nil {
			t.Error(err)
		}
	})
	t.Run("in namespaces alone", func(t *testing.T) {
		clusters := k.Namespace()
		s := newSite(t, k, "--set", "rbac.namespaces={"+clusters+"}")
		s.moveTo(clusters)
		if err := s.live(s.start()); err != nil {
			t.Error(err)
		}
	})

	for _, right := range rights(t, k) {
		t.Run("without "+right.verb+" "+right.resource, func(t *testing.T) { t.Parallel(); without(t, k, right) })
	}
}

// without sees an agent that lacks a right fail for the lack of it.
func without(t *testing.T, k *kube.Server, r right, args ...string) {
	t.Helper()
	s := newSite(t, k, args...)
	s.take(r)
	err := s.live(s.start())
	var f errForbidden
	if !errors.As(err, &f) || f != errForbidden(r) {
		t.Errorf("without the right to %s %s: %v: is it needed?", r.verb, r.resource, err)
	}
}

// right is one verb on one resource.
type right struct{ verb, resource string }

// rights returns all that the chart's roles allow.
func rights(t *testing.T, k *kube.Server, args ...string) (all []right) {
	t.Helper()
	s := newSite(t, k, args...)
	s.roles(func(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
		for _, r := range rules {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					all = append(all, right{verb, resource})
				}
			}
		}
		return rules
	})
	if len(all) == 0 {
		t.Fatal("the chart gives no rights")
	}
	return all
}

// take takes r away.
func (s *site) take(r right) {
	s.t.Helper()
	s.roles(func(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
		for i := range rules {
			if slices.Contains(rules[i].Resources, r.resource) {
				rules[i].Verbs = slices.DeleteFunc(rules[i].Verbs, func(v string) bool { return v == r.verb })
			}
		}
		return slices.DeleteFunc(rules, func(r rbacv1.PolicyRule) bool { return len(r.Verbs) == 0 })
	})
}

// roles lets edit change the rules of each role of the release.
func (s *site) roles(edit func([]rbacv1.PolicyRule) []rbacv1.PolicyRule) {
	s.t.Helper()
	ctx, rbac := s.t.Context(), s.client.RbacV1()
	roles, err := rbac.Roles(s.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range roles.Items {
		r.Rules = edit(r.Rules)
		if _, err := rbac.Roles(s.namespace).Update(ctx, &r, metav1.UpdateOptions{}); err != nil {
			s.t.Fatal(err)
		}
	}
	cluster, err := rbac.ClusterRoles().Get(ctx, s.namespace+"-fairlead-secrets", metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	cluster.Rules = edit(cluster.Rules)
	if _, err := rbac.ClusterRoles().Update(ctx, cluster, metav1.UpdateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}
