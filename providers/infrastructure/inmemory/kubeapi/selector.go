package kubeapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// A selector says which objects a client wants to see.
type selector struct {
	labels labels.Selector
	fields fields.Selector
	name   string // of the one object, where the path names it
}

// selectable are the parts of any object that selectors look at.
type selectable struct {
	Metadata struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	} `json:"metadata"`
	Type   string `json:"type"`
	Reason string `json:"reason"`
	Spec   struct {
		NodeName      string `json:"nodeName"`
		Unschedulable bool   `json:"unschedulable"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
	InvolvedObject struct {
		Kind      string `json:"kind"`
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		UID       string `json:"uid"`
	} `json:"involvedObject"`
}

// fieldLabels returns the fields that may be selected by.
func (o selectable) fieldLabels() fields.Set {
	return fields.Set{
		"metadata.name":            o.Metadata.Name,
		"metadata.namespace":       o.Metadata.Namespace,
		"type":                     o.Type,
		"reason":                   o.Reason,
		"spec.nodeName":            o.Spec.NodeName,
		"spec.unschedulable":       strconv.FormatBool(o.Spec.Unschedulable),
		"status.phase":             o.Status.Phase,
		"involvedObject.kind":      o.InvolvedObject.Kind,
		"involvedObject.namespace": o.InvolvedObject.Namespace,
		"involvedObject.name":      o.InvolvedObject.Name,
		"involvedObject.uid":       o.InvolvedObject.UID,
	}
}

func parseSelector(q request) (selector, error) {
	var s selector
	var err error
	if s.labels, err = labels.Parse(q.query.Get("labelSelector")); err != nil {
		return s, apierrors.NewBadRequest(err.Error())
	}
	if s.fields, err = fields.ParseSelector(q.query.Get("fieldSelector")); err != nil {
		return s, apierrors.NewBadRequest(err.Error())
	}
	known := selectable{}.fieldLabels()
	for _, r := range s.fields.Requirements() {
		if !known.Has(r.Field) {
			return s, apierrors.NewBadRequest(fmt.Sprintf("field label not supported: %s", r.Field))
		}
	}
	s.name = q.name
	return s, nil
}

func (s selector) everything() bool {
	return s.labels.Empty() && s.fields.Empty() && s.name == ""
}

func (s selector) matches(raw []byte) bool {
	if s.everything() {
		return true
	}
	var o selectable
	if err := json.Unmarshal(raw, &o); err != nil {
		return false // a user field of another type: nothing to select by
	}
	return s.labels.Matches(labels.Set(o.Metadata.Labels)) &&
		s.fields.Matches(o.fieldLabels()) &&
		slices.Contains([]string{"", o.Metadata.Name}, s.name)
}
