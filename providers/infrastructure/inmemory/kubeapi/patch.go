package kubeapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"fairlead.dev/fleet/documents"
)

func (s *Server) servePatch(w http.ResponseWriter, q request) error {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	contentType, _, _ := strings.Cut(q.Header.Get("Content-Type"), ";")
	typ := types.PatchType(contentType)
	if typ == types.ApplyPatchType || typ == types.StrategicMergePatchType || typ == types.MergePatchType {
		if body, err = documents.ToJSON(body, documents.AddonLimits()); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	if _, exists := s.read(q.kind, q.namespace, q.name); !exists && typ == types.ApplyPatchType {
		if err := s.checkNamespace(q); err != nil {
			return err
		}
	}
	code := http.StatusOK
	raw, err := s.write(q.write(), func(old *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if typ == types.ApplyPatchType {
			if old == nil {
				code = http.StatusCreated
			}
			return s.apply(q, old, body)
		}
		if old == nil {
			return nil, apierrors.NewNotFound(q.kind.resource(), q.name)
		}
		u, err := patched(q, typ, old, body)
		if err != nil {
			return nil, err
		}
		return s.track(q, old, u)
	})
	if err != nil {
		return err
	}
	reply(w, code, raw)
	return nil
}

// patched returns old with a patch of one of the three older types.
func patched(q request, typ types.PatchType, old *unstructured.Unstructured, patch []byte) (*unstructured.Unstructured, error) {
	raw, err := encode(old), error(nil)
	switch typ {
	case types.JSONPatchType:
		var p jsonpatch.Patch
		if p, err = jsonpatch.DecodePatch(patch); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		raw, err = p.Apply(raw)
	case types.MergePatchType:
		raw, err = jsonpatch.MergePatch(raw, patch)
	case types.StrategicMergePatchType:
		if q.kind.typed == nil {
			return nil, unsupported(string(typ)) // the merge keys are not known
		}
		raw, err = strategicpatch.StrategicMergePatch(raw, patch, q.kind.typed)
	default:
		return nil, unsupported(string(typ))
	}
	if err != nil {
		return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, q.Method, q.kind.resource(), q.name, err.Error(), 0, true)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if u.GetName() != q.name || u.GetNamespace() != q.namespace {
		return nil, apierrors.NewBadRequest("a patch cannot rename an object")
	}
	return u, nil
}

// apply returns what a server-side apply makes of old, which is nil where there
// is nothing yet.
func (s *Server) apply(q request, old *unstructured.Unstructured, patch []byte) (*unstructured.Unstructured, error) {
	manager := q.query.Get("fieldManager")
	if manager == "" {
		return nil, apierrors.NewBadRequest("fieldManager is required for apply patch")
	}
	fields, err := fieldManager(q)
	if err != nil {
		return nil, err
	}
	applied := &unstructured.Unstructured{}
	if err := applied.UnmarshalJSON(patch); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if gvk := applied.GroupVersionKind(); gvk != q.kind.GroupVersionKind {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s in the body, %s on the URL", gvk, q.kind.GroupVersionKind))
	}
	if old == nil {
		old = &unstructured.Unstructured{Object: map[string]any{}}
		old.SetGroupVersionKind(q.kind.GroupVersionKind)
		old.SetName(q.name)
		old.SetNamespace(q.namespace)
	}
	out, err := fields.Apply(old, applied, manager, q.query.Get("force") == "true")
	if err != nil {
		return nil, err // a conflict is a StatusError already
	}
	u, ok := out.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("apply made a %T", out)
	}
	return u, nil
}

// track records in managedFields what a write other than an apply changes, on
// objects that somebody applies. On all others it would only take memory.
func (s *Server) track(q request, old, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if len(old.GetManagedFields()) == 0 {
		u.SetManagedFields(nil)
		return u, nil
	}
	fields, err := fieldManager(q)
	if err != nil {
		return nil, err
	}
	manager := q.query.Get("fieldManager")
	if manager == "" {
		manager, _, _ = strings.Cut(q.UserAgent(), "/")
	}
	out, err := fields.Update(old, u, manager)
	if err != nil {
		return nil, err
	}
	tracked, ok := out.(*unstructured.Unstructured)
	if !ok {
		return nil, errors.New("the field manager changed the type of an object")
	}
	return tracked, nil
}

// fieldManager returns the field manager of a kind. It knows no schema: it
// deduces the structure from the values, so that lists are atomic.
func fieldManager(q request) (*managedfields.FieldManager, error) {
	gvk, sub := q.kind.GroupVersionKind, q.sub
	return managedfields.NewDefaultFieldManager(managedfields.NewDeducedTypeConverter(),
		oneVersion{}, oneVersion{}, oneVersion{}, gvk, gvk.GroupVersion(), sub, nil)
}

// oneVersion converts, defaults and creates objects of kinds that are served in
// one version only.
type oneVersion struct{}

func (oneVersion) Convert(in, out, context any) error { return errors.New("there is one version only") }

func (oneVersion) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func (oneVersion) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

func (oneVersion) Default(runtime.Object) {}

func (oneVersion) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u, nil
}
