package vcenter

import "github.com/vmware/govmomi/vim25/types"

// everywhere selects all VMs, folders and data centers below root in one request that
// keeps nothing on the server. VMs of a vApp within a vApp are not among them: no machine is
// made there.
func everywhere(root Ref, paths []string) types.PropertyFilterSpec {
	where := []string{"name", "parent"}
	return types.PropertyFilterSpec{
		PropSet: []types.PropertySpec{{Type: "VirtualMachine", PathSet: paths}, {Type: "Folder", PathSet: where}, {Type: "Datacenter", PathSet: where}},
		ObjectSet: []types.ObjectSpec{{Obj: root, SelectSet: []types.BaseSelectionSpec{
			along("folder", "Folder", "childEntity", "folder", "datacenter", "vapp"),
			along("datacenter", "Datacenter", "vmFolder", "folder"),
			along("vapp", "VirtualApp", "vm"),
		}}},
	}
}

// along selects what the property at path of objects of a kind leads to, and then what the selections called then do.
func along(name, kind, path string, then ...string) types.BaseSelectionSpec {
	var to []types.BaseSelectionSpec
	for _, n := range then {
		to = append(to, &types.SelectionSpec{Name: n})
	}
	return &types.TraversalSpec{SelectionSpec: types.SelectionSpec{Name: name}, Type: kind, Path: path, SelectSet: to}
}

// recent selects tasks that are queued, run, or ended within ten minutes.
// Source: vSphere Web Services API, TaskManager.recentTask.
func recent(manager *Ref) types.PropertyFilterSpec {
	return types.PropertyFilterSpec{
		PropSet: []types.PropertySpec{{Type: "Task", PathSet: []string{"info"}}},
		ObjectSet: []types.ObjectSpec{{Obj: *manager, Skip: types.NewBool(true), SelectSet: []types.BaseSelectionSpec{
			&types.TraversalSpec{Type: "TaskManager", Path: "recentTask"},
		}}},
	}
}
