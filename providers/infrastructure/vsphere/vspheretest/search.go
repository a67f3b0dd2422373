package vspheretest

import (
	"strings"

	vcsim "github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// A search is vcsim's SearchIndex, which takes every machine to have a configuration.
type search struct {
	*vcsim.SearchIndex
	v *VCenter
}

// FindAllByUuid finds machines whose clone does not run any more.
func (s *search) FindAllByUuid(_ *vcsim.Context, r *types.FindAllByUuid) soap.HasFault {
	body := &methods.FindAllByUuidBody{Res: new(types.FindAllByUuidResponse)}
	for _, e := range s.v.Registry().All("VirtualMachine") {
		vm := e.(*vcsim.VirtualMachine)
		s.v.Registry().WithLock(s.v.Context(), vm, func() {
			if vm.Config == nil {
				return
			}
			id := vm.Config.Uuid
			if isTrue(r.InstanceUuid) {
				id = vm.Config.InstanceUuid
			}
			if r.VmSearch && strings.EqualFold(id, r.Uuid) {
				body.Res.Returnval = append(body.Res.Returnval, vm.Self)
			}
		})
	}
	return body
}
