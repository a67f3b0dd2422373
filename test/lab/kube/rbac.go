package kube

import (
	"context"
	"fmt"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

// ServiceAccount returns how a service account connects, by a token as a pod
// gets one. It creates the account if there is none of that name, and allows it
// rules in the whole cluster, which are the only ones if there is.
func (k *Server) ServiceAccount(namespace, name string, rules ...rbacv1.PolicyRule) *rest.Config {
	k.t.Helper()
	accounts := k.client.CoreV1().ServiceAccounts(namespace)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := accounts.Create(k.t.Context(), account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		k.t.Fatal(err)
	}
	if len(rules) > 0 {
		k.Allow(rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}, rules...)
	}
	token, err := accounts.CreateToken(k.t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		k.t.Fatal(err)
	}
	c := k.server.anonymous()
	c.BearerToken = token.Status.Token
	return c
}

// Allow allows subject rules in the whole cluster, in addition to what it may
// already, and waits until the server knows.
func (k *Server) Allow(subject rbacv1.Subject, rules ...rbacv1.PolicyRule) {
	k.t.Helper()
	ctx, rbac := k.t.Context(), k.client.RbacV1()
	role, err := rbac.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}, Rules: rules}, metav1.CreateOptions{})
	if err != nil {
		k.t.Fatal(err)
	}
	_, err = rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}, Subjects: []rbacv1.Subject{subject},
	}, metav1.CreateOptions{})
	if err != nil {
		k.t.Fatal(err)
	}
	for _, spec := range questions(rules) {
		spec.User = subject.Name
		if subject.Kind == rbacv1.ServiceAccountKind {
			spec.User = fmt.Sprintf("system:serviceaccount:%s:%s", subject.Namespace, subject.Name)
		}
		if subject.Kind == rbacv1.GroupKind {
			spec.User, spec.Groups = "", []string{subject.Name}
		}
		k.awaitAllowed(spec)
	}
}

// awaitAllowed waits until the server answers that what spec asks is allowed: it
// learns of roles and bindings a moment after they are stored.
func (k *Server) awaitAllowed(spec authorizationv1.SubjectAccessReviewSpec) {
	k.t.Helper()
	err := wait.PollUntilContextTimeout(k.t.Context(), 5*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		review, err := k.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
		return err == nil && review.Status.Allowed, err
	})
	if err != nil {
		k.t.Fatalf("%s is not allowed %v%v: %v", spec.User, spec.ResourceAttributes, spec.NonResourceAttributes, err)
	}
}

// questions returns all that rules allow, one access each.
func questions(rules []rbacv1.PolicyRule) []authorizationv1.SubjectAccessReviewSpec {
	var specs []authorizationv1.SubjectAccessReviewSpec
	for _, r := range rules {
		for _, verb := range r.Verbs {
			for _, path := range r.NonResourceURLs {
				specs = append(specs, authorizationv1.SubjectAccessReviewSpec{NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: verb}})
			}
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					specs = append(specs, named(r.ResourceNames, authorizationv1.ResourceAttributes{Group: group, Resource: resource, Verb: verb})...)
				}
			}
		}
	}
	return specs
}

// named returns a question for each name that a rule is limited to, or one.
func named(names []string, a authorizationv1.ResourceAttributes) []authorizationv1.SubjectAccessReviewSpec {
	a.Resource, a.Subresource, _ = strings.Cut(a.Resource, "/")
	if len(names) == 0 {
		return []authorizationv1.SubjectAccessReviewSpec{{ResourceAttributes: &a}}
	}
	var specs []authorizationv1.SubjectAccessReviewSpec
	for _, name := range names {
		one := a
		one.Name = name
		specs = append(specs, authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: &one})
	}
	return specs
}
