package topology

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"fairlead.dev/fleet"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// An Object is an object as people wrote it, with its namespace filled in. It never
// changes.
type Object struct {
	File      string
	Namespace string
	Raw       map[string]any // as JSON has it, whole numbers as int64
	Contract  Contract       // of a control-plane template
	Kept      bool           // a template of machine pools that a cloud keeps
}

// A Contract says which fields of a control plane describe its machines. Empty: the object
// is no control-plane template. Source: Cluster API, contract rules for ControlPlane.
type Contract string

// The contracts.
const (
	V1Beta1 Contract = "v1beta1" // spec.machineTemplate.infrastructureRef, spec.rolloutAfter
	V1Beta2 Contract = "v1beta2" // spec.machineTemplate.spec.infrastructureRef, spec.rollout.after
	Hosted  Contract = "hosted"  // no machines: spec.version alone
)

func (o Object) text(key string) string { s, _ := o.Raw[key].(string); return s }

func (o Object) gvk() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(o.text("apiVersion"), o.text("kind"))
}

func (o Object) name() string {
	meta, _ := o.Raw["metadata"].(map[string]any)
	s, _ := meta["name"].(string)
	return s
}

func (o Object) key() fleet.Key { return fleet.Key{Namespace: o.Namespace, Name: o.name()} }

// String returns "Kind namespace/name".
func (o Object) String() string { return o.text("kind") + " " + o.key().String() }

// A Finder returns the object of a kind and name in the namespace of a class.
type Finder func(group, kind, name string) (Object, bool)

// A Class is a ClusterClass with its templates, compiled. It never changes and
// is safe for concurrent use.
type Class struct {
	Key    fleet.Key
	Folder string // of the overlay with the class
	// Digest identifies everything that an expansion depends on: the class and its
	// templates.
	Digest string
	// Former is the class as earlier versions rendered it, with lists in another order; nil: it is
	// the same.
	Former *Class
	// Problems say what is wrong with the class. With problems it expands nothing.
	Problems []fleet.Problem

	object    Object
	spec      clusterv1.ClusterClassSpec
	templates map[clusterv1.ClusterClassTemplateReference]Object
	variables map[string]*variable
	engines   sync.Pool
}

// A Library has the classes of a folder without clusters. A library without classes is a
// folder that could not be read, and may have any class.
type Library struct {
	Folder  string
	Classes map[fleet.Key]*Class
}

// Limits of a class. Source: the schema of ClusterClass; for rules, what compiles in a
// second.
const (
	maxVariables = 1000
	maxRules     = 500
)

// NewClass compiles the class o, which was read from folder and whose fields
// are those of a ClusterClass. Templates come from find.
func NewClass(folder string, o Object, find Finder) *Class {
	c := &Class{
		Key: o.key(), Folder: folder, object: o,
		templates: map[clusterv1.ClusterClassTemplateReference]Object{}, variables: map[string]*variable{},
	}
	c.engines.New = func() any { return newEngine() }
	if err := c.read(); err != nil {
		c.problem("", "", "cannot be read: %s", err)
		return c
	}
	digest := sha256.New()
	add := func(o Object) { _, _ = fmt.Fprintf(digest, "%s\n%s\n", o.File, marshal(o.Raw)) }
	add(o)
	for _, r := range c.refs() {
		t, ok := find(r.ref.GroupVersionKind().Group, r.ref.Kind, r.ref.Name)
		switch version := t.gvk().Version; {
		case !ok:
			c.problem(r.field, "add it beside the class", "refers to %s %s/%s, which the overlay does not hold", r.ref.Kind, c.Key.Namespace, r.ref.Name)
		case version != r.ref.GroupVersionKind().Version:
			c.problem(r.field, "write apiVersion: "+t.text("apiVersion"), "refers to version %s of %s; it is written in %s", r.ref.GroupVersionKind().Version, t, version)
		case !strings.HasSuffix(r.ref.Kind, "Template"):
			c.problem(r.field, "", "must refer to a template, not to %s", r.ref.Kind)
		case r.field == controlPlaneField && t.Contract == "":
			c.problem(r.field, "", "must refer to a template of a control plane, such as a KubeadmControlPlaneTemplate, not to %s", r.ref.Kind)
		default:
			if _, seen := c.templates[r.ref]; !seen {
				add(t)
			}
			c.templates[r.ref] = t
		}
	}
	c.Digest = hex.EncodeToString(digest.Sum(nil))
	c.checkHosted()
	c.checkVersions()
	c.checkWorkers()
	c.compileVariables()
	c.checkPatches()
	c.checkNaming()
	return c
}

// read fills in the spec of the newest version.
func (c *Class) read() error {
	raw := marshal(c.object.Raw)
	if c.object.gvk().Version != clusterv1beta1.GroupVersion.Version {
		var class clusterv1.ClusterClass
		err := json.Unmarshal(raw, &class)
		c.spec = class.Spec
		return err
	}
	var old clusterv1beta1.ClusterClass
	if err := json.Unmarshal(raw, &old); err != nil {
		return err
	}
	var class clusterv1.ClusterClass
	err := clusterv1beta1.Convert_v1beta1_ClusterClass_To_v1beta2_ClusterClass(&old, &class, nil)
	c.spec = class.Spec
	return err
}

const (
	controlPlaneField = "spec.controlPlane.templateRef"
	machinesField     = "spec.controlPlane.machineInfrastructure.templateRef"
)

// A reference is a template that the class refers to at field.
type reference struct {
	field string
	ref   clusterv1.ClusterClassTemplateReference
}

func (c *Class) refs() []reference {
	s := &c.spec
	out := []reference{
		{"spec.infrastructure.templateRef", s.Infrastructure.TemplateRef},
		{controlPlaneField, s.ControlPlane.TemplateRef},
	}
	if machines := s.ControlPlane.MachineInfrastructure.TemplateRef; machines.IsDefined() {
		out = append(out, reference{machinesField, machines})
	}
	for i := range s.Workers.MachineDeployments {
		md, at := &s.Workers.MachineDeployments[i], fmt.Sprintf("spec.workers.machineDeployments[%d]", i)
		out = append(out,
			reference{at + ".bootstrap.templateRef", md.Bootstrap.TemplateRef},
			reference{at + ".infrastructure.templateRef", md.Infrastructure.TemplateRef},
		)
	}
	for i := range s.Workers.MachinePools {
		mp, at := &s.Workers.MachinePools[i], fmt.Sprintf("spec.workers.machinePools[%d]", i)
		out = append(out,
			reference{at + ".bootstrap.templateRef", mp.Bootstrap.TemplateRef},
			reference{at + ".infrastructure.templateRef", mp.Infrastructure.TemplateRef},
		)
	}
	defined := out[:0]
	for _, r := range out {
		if r.ref.Kind == "" || r.ref.Name == "" || r.ref.APIVersion == "" {
			c.problem(r.field, "", "needs kind, name and apiVersion")
			continue
		}
		defined = append(defined, r)
	}
	return defined
}

// problem adds a problem with a field of the newest version.
func (c *Class) problem(path, hint, format string, args ...any) {
	c.Problems = append(c.Problems, fleet.Problem{
		Overlay: c.Folder, File: c.object.File, Object: c.object.String(),
		Field: c.written(path), Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

func (c *Class) errors(errs field.ErrorList) {
	for _, e := range errs {
		c.problem(e.Field, "", "%s", e.ErrorBody())
	}
}

// written returns path in the version that the class is written in.
func (c *Class) written(path string) string {
	if c.object.gvk().Version != clusterv1beta1.GroupVersion.Version {
		return path
	}
	path = oldClass().Replace(path)
	if strings.HasPrefix(path, "spec.workers.machine") {
		for _, part := range []string{".bootstrap", ".infrastructure", ".metadata"} {
			path = strings.Replace(path, "]"+part, "].template"+part, 1)
		}
	}
	return path
}

func oldClass() *strings.Replacer {
	return strings.NewReplacer(
		"spec.infrastructure.naming", "spec.infrastructureNamingStrategy", ".naming.", ".namingStrategy.",
		".templateRef", ".ref", ".healthCheck", ".machineHealthCheck",
		".deletion.nodeDrainTimeoutSeconds", ".nodeDrainTimeout", ".rollout.strategy", ".strategy",
	)
}

func (c *Class) checkWorkers() {
	check := func(list string, classes []string) {
		seen := map[string]bool{}
		for i, class := range classes {
			at := fmt.Sprintf("spec.workers.%s[%d].class", list, i)
			switch {
			case class == "":
				c.problem(at, "", "is required")
			case seen[class]:
				c.problem(at, "rename one of them", "another class of machines is called %q too", class)
			}
			seen[class] = true
		}
	}
	check("machineDeployments", c.machineClasses())
	check("machinePools", c.poolClasses())
}

func (c *Class) compileVariables() {
	at := field.NewPath("spec", "variables")
	total := 0
	for i := range c.spec.Variables {
		total += countRules(&c.spec.Variables[i].Schema.OpenAPIV3Schema)
	}
	if len(c.spec.Variables) > maxVariables || total > maxRules {
		c.problem(at.String(), "", "there are %d variables with %d CEL rules; at most %d with %d are compiled", len(c.spec.Variables), total, maxVariables, maxRules)
		return
	}
	for i := range c.spec.Variables {
		def := &c.spec.Variables[i]
		v, errs := newVariable(def, at.Index(i))
		if _, ok := c.variables[def.Name]; ok {
			errs = append(errs, field.Duplicate(at.Index(i).Child("name"), def.Name))
		}
		c.errors(errs)
		c.variables[def.Name] = v
	}
}

// marshal returns v, which came from JSON, as JSON.
func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("topology: cannot marshal %T: %v", v, err))
	}
	return b
}

// Broken returns a class that expands nothing because of problems with its objects.
func Broken(key fleet.Key, folder string, problems []fleet.Problem) *Class {
	sum := sha256.Sum256(marshal(problems))
	c := &Class{Key: key, Folder: folder, Digest: hex.EncodeToString(sum[:]), Problems: problems}
	c.engines.New = func() any { return newEngine() }
	return c
}
