package cri

import "time"

// sandboxStatus is PodSandboxStatus. As JSON it is what crictl inspectp prints of it: keys by name, the time as a date.
type sandboxStatus struct {
	Annotations nothing            `json:"annotations"`
	CreatedAt   time.Time          `json:"createdAt"`
	ID          string             `json:"id"`
	Labels      map[string]string  `json:"labels"`
	Linux       *linuxStatus       `json:"linux"`
	Metadata    *inspectedMetadata `json:"metadata"`
	Network     *networkStatus     `json:"network"`
	Handler     string             `json:"runtimeHandler"`
	State       sandboxState       `json:"state"`
}

type inspectedMetadata struct {
	Attempt   uint32 `json:"attempt"`
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	UID       string `json:"uid"`
}

type linuxStatus struct {
	Namespaces *namespaces `json:"namespaces"`
}

type namespaces struct {
	Options *namespaceOptions `json:"options"`
}

type namespaceOptions struct {
	IPC      networkMode    `json:"ipc"`
	Network  networkMode    `json:"network"`
	PID      networkMode    `json:"pid"`
	TargetID string         `json:"targetId"`
	User     *userNamespace `json:"usernsOptions"`
}

type userNamespace struct {
	GIDs []idMapping `json:"gids"`
	Mode networkMode `json:"mode"`
	UIDs []idMapping `json:"uids"`
}

type idMapping struct {
	ContainerID uint32 `json:"containerId"`
	HostID      uint32 `json:"hostId"`
	Length      uint32 `json:"length"`
}

type networkStatus struct {
	Additional []podIP `json:"additionalIps"`
	IP         string  `json:"ip"`
}

type podIP struct {
	IP string `json:"ip"`
}

// newSandboxStatus has the lists and times that crictl prints also when the runtime sends none.
func newSandboxStatus() sandboxStatus {
	return sandboxStatus{CreatedAt: time.Unix(0, 0).UTC(), Labels: map[string]string{}}
}

func (s *sandboxStatus) add(f field) error {
	switch f.num {
	case 1:
		s.ID = string(f.b)
	case 2:
		var m podMetadata
		if s.Metadata != nil {
			m = podMetadata{Name: s.Metadata.Name, UID: s.Metadata.UID, Namespace: s.Metadata.Namespace, Attempt: s.Metadata.Attempt}
		}
		err := eachField(f.b, m.add)
		s.Metadata = &inspectedMetadata{Attempt: m.Attempt, Name: m.Name, Namespace: m.Namespace, UID: m.UID}
		return err
	case 3:
		s.State = sandboxState(f.n)
	case 4:
		s.CreatedAt = time.Unix(0, int64(f.n)).UTC()
	case 5:
		if s.Network == nil {
			s.Network = &networkStatus{Additional: []podIP{}}
		}
		return eachField(f.b, s.Network.add)
	case 6:
		s.Linux = orNew(s.Linux)
		return eachField(f.b, s.Linux.add)
	case 7:
		return addEntry(&s.Labels, f.b)
	case 9:
		s.Handler = string(f.b)
	}
	return nil
}

func (n *networkStatus) add(f field) error {
	switch f.num {
	case 1:
		n.IP = string(f.b)
	case 2:
		var ip podIP
		err := eachField(f.b, func(f field) error {
			if f.num == 1 {
				ip.IP = string(f.b)
			}
			return nil
		})
		n.Additional = append(n.Additional, ip)
		return err
	}
	return nil
}

func (l *linuxStatus) add(f field) error {
	if f.num != 1 {
		return nil
	}
	l.Namespaces = orNew(l.Namespaces)
	return eachField(f.b, l.Namespaces.add)
}

func (n *namespaces) add(f field) error {
	if f.num != 2 {
		return nil
	}
	n.Options = orNew(n.Options)
	return eachField(f.b, n.Options.add)
}

func (o *namespaceOptions) add(f field) error {
	switch f.num {
	case 1:
		o.Network = networkMode(f.n)
	case 2:
		o.PID = networkMode(f.n)
	case 3:
		o.IPC = networkMode(f.n)
	case 4:
		o.TargetID = string(f.b)
	case 5:
		if o.User == nil {
			o.User = &userNamespace{GIDs: []idMapping{}, UIDs: []idMapping{}}
		}
		return eachField(f.b, o.User.add)
	}
	return nil
}

func (u *userNamespace) add(f field) error {
	var m idMapping
	switch f.num {
	case 1:
		u.Mode = networkMode(f.n)
	case 2:
		err := eachField(f.b, m.add)
		u.UIDs = append(u.UIDs, m)
		return err
	case 3:
		err := eachField(f.b, m.add)
		u.GIDs = append(u.GIDs, m)
		return err
	}
	return nil
}

func (m *idMapping) add(f field) error {
	switch f.num {
	case 1:
		m.HostID = uint32(f.n)
	case 2:
		m.ContainerID = uint32(f.n)
	case 3:
		m.Length = uint32(f.n)
	}
	return nil
}

// hostNetwork reads linux.namespaces.options.network; node is the host's network.
func (s *sandboxStatus) hostNetwork() bool {
	return s.Linux != nil && s.Linux.Namespaces != nil && s.Linux.Namespaces.Options != nil &&
		s.Linux.Namespaces.Options.Network == nodeNetwork
}
