package cri

import "bytes"

// Each of these adds one field to what is read of a message. The numbers are those of api.proto.

func (s *podSandbox) add(f field) error {
	if err := f.of(1<<3|1<<4, 1<<1|1<<2|1<<5|1<<7); err != nil {
		return err
	}
	switch f.num {
	case 1:
		s.ID = string(f.b)
	case 2:
		s.Metadata = orNew(s.Metadata)
		return eachField(f.b, s.Metadata.add)
	case 3:
		s.State = sandboxState(f.n)
	case 4:
		s.CreatedAt = nanoseconds(f.n)
	case 5:
		return addEntry(&s.Labels, f.b)
	case 7:
		s.RuntimeHandler = string(f.b)
	}
	return nil
}

// addRow adds what a [Sandbox] is made of.
func (s *podSandbox) addRow(f field) error {
	if f.typ == chunk && (f.num == 5 || f.num == 7) {
		return nil
	}
	return s.add(f)
}

// addRow adds what a [Container] is made of: of the labels only those that name its pod.
func (c *container) addRow(f field) error {
	if f.typ == chunk && (f.num == 4 || f.num == 5 || f.num == 10 || f.num == 8 && !bytes.Contains(f.b, []byte(podLabels))) {
		return nil
	}
	return c.add(f)
}

// orNew is where a message goes on that came in several pieces.
func orNew[T any](m *T) *T {
	if m == nil {
		return new(T)
	}
	return m
}

func (m *podMetadata) add(f field) error {
	if err := f.of(1<<4, 1<<1|1<<2|1<<3); err != nil {
		return err
	}
	switch f.num {
	case 1:
		m.Name = string(f.b)
	case 2:
		m.UID = string(f.b)
	case 3:
		m.Namespace = string(f.b)
	case 4:
		m.Attempt = uint32(f.n)
	}
	return nil
}

func (c *container) add(f field) error {
	if err := f.of(1<<6|1<<7, 1<<1|1<<2|1<<3|1<<4|1<<5|1<<8|1<<10); err != nil {
		return err
	}
	switch f.num {
	case 1:
		c.ID = string(f.b)
	case 2:
		c.PodSandboxID = string(f.b)
	case 3:
		c.Metadata = orNew(c.Metadata)
		return eachField(f.b, c.Metadata.add)
	case 4:
		c.Image = orNew(c.Image)
		return eachField(f.b, c.Image.add)
	case 5:
		c.ImageRef = string(f.b)
	case 6:
		c.State = State(f.n)
	case 7:
		c.CreatedAt = nanoseconds(f.n)
	case 8:
		return addEntry(&c.Labels, f.b)
	case 10:
		c.ImageID = string(f.b)
	}
	return nil
}

func (m *containerMetadata) add(f field) error {
	if err := f.of(1<<2, 1<<1); err != nil {
		return err
	}
	switch f.num {
	case 1:
		m.Name = string(f.b)
	case 2:
		m.Attempt = uint32(f.n)
	}
	return nil
}

func (i *imageSpec) add(f field) error {
	switch f.num {
	case 1:
		i.Image = string(f.b)
	case 2:
		return addEntry(&i.Annotations, f.b)
	case 18:
		i.UserSpecifiedImage = string(f.b)
	case 19:
		i.RuntimeHandler = string(f.b)
	case 20:
		i.ImageRef = string(f.b)
	}
	return nil
}

func (v *runtimeVersion) add(f field) error {
	switch f.num {
	case 1:
		v.Version = string(f.b)
	case 2:
		v.RuntimeName = string(f.b)
	case 3:
		v.RuntimeVersion = string(f.b)
	case 4:
		v.RuntimeAPIVersion = string(f.b)
	}
	return nil
}

func (s *runtimeStatus) add(f field) error {
	if err := f.of(0, 1<<1); err != nil || f.num != 1 {
		return err
	}
	var c runtimeCondition
	err := eachField(f.b, c.add)
	s.Conditions = append(s.Conditions, c)
	return err
}

func (c *runtimeCondition) add(f field) error {
	if err := f.of(1<<2, 1<<1|1<<3|1<<4); err != nil {
		return err
	}
	switch f.num {
	case 1:
		c.Type = string(f.b)
	case 2:
		c.Status = f.n != 0
	case 3:
		c.Reason = string(f.b)
	case 4:
		c.Message = string(f.b)
	}
	return nil
}

// statusAnswer is StatusResponse.
type statusAnswer struct {
	status runtimeStatus
	info   map[string]string
}

func (a *statusAnswer) add(f field) error {
	if err := f.of(0, 1<<1|1<<2); err != nil {
		return err
	}
	switch f.num {
	case 1:
		return eachField(f.b, a.status.add)
	case 2:
		return addEntry(&a.info, f.b)
	}
	return nil
}
