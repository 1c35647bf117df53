package occupancy

// amdArch holds the limits of an AMD architecture. "Unit" is what the waves of a
// work-group must share: a compute unit (CU), or from gfx10 on a work-group processor
// (WGP) of two of them.
type amdArch struct {
	gfx          []string
	rdna         bool  // waves of 32 or 64; units are WGPs
	wavesPerSIMD int64 // resident waves
	vgprs        int64 // vector registers of a SIMD for waves of 64; twice as many for 32
	vgprUnit     int64 // allocation unit for waves of 64; twice as many for 32
	maxVGPRs     int64 // of a thread
	sgprs        int64 // scalar registers of a SIMD; 0: they do not bound occupancy
	sgprUnit     int64
	maxSGPRs     int64 // of a wave
	// sgprTrap is what the runtime's trap handler takes of each wave on top.
	sgprTrap int64
	lds      int64 // bytes of a CU
	ldsUnit  int64 // bytes; allocation unit
	maxLDS   int64 // bytes of a work-group
}

// amdArchs: none of this was verified on hardware.
//
// Sources: the LLVM project's "User Guide for AMDGPU Backend" (granularity of
// registers and of LDS in the kernel descriptor, waves of 32 and 64, what a trap
// handler takes), the ISA documents of the Vega, CDNA and RDNA generations (registers
// of a SIMD, LDS of a CU, 16 barriers of a CU), and "AMD GPU specifications" of the
// ROCm documentation (vector registers and LDS by device, which tells the gfx11 and
// gfx12 parts with 1536 registers from those with 1024). Checked against the occupancy
// that LLVM states for its own test kernels; see amd_test.go.
var amdArchs = []amdArch{
	// GCN 5, CDNA 1: the accumulation registers of gfx908 are a second file.
	{gfx: []string{"gfx900", "gfx906", "gfx908"}, wavesPerSIMD: 10, vgprs: 256, vgprUnit: 4, maxVGPRs: 256,
		sgprs: 800, sgprUnit: 16, maxSGPRs: 102 + 6, sgprTrap: 16, lds: 64 * kib, ldsUnit: 512, maxLDS: 64 * kib},
	// CDNA 2 and 3: one file for vector and accumulation registers.
	{gfx: []string{"gfx90a", "gfx940", "gfx941", "gfx942"}, wavesPerSIMD: 8, vgprs: 512, vgprUnit: 8, maxVGPRs: 512,
		sgprs: 800, sgprUnit: 16, maxSGPRs: 102 + 6, sgprTrap: 16, lds: 64 * kib, ldsUnit: 512, maxLDS: 64 * kib},
	// CDNA 4
	{gfx: []string{"gfx950"}, wavesPerSIMD: 8, vgprs: 512, vgprUnit: 8, maxVGPRs: 512,
		sgprs: 800, sgprUnit: 16, maxSGPRs: 102 + 6, sgprTrap: 16, lds: 160 * kib, ldsUnit: 1280, maxLDS: 160 * kib},
	// RDNA 1
	{gfx: []string{"gfx1010", "gfx1011", "gfx1012"}, rdna: true, wavesPerSIMD: 20, vgprs: 512, vgprUnit: 4, maxVGPRs: 256,
		maxSGPRs: 106, lds: 64 * kib, ldsUnit: 512, maxLDS: 64 * kib},
	// RDNA 2, and those RDNA 3 parts with the same file
	{gfx: []string{"gfx1030", "gfx1031", "gfx1032", "gfx1102", "gfx1150", "gfx1152", "gfx1153"}, rdna: true, wavesPerSIMD: 16, vgprs: 512, vgprUnit: 8, maxVGPRs: 256,
		maxSGPRs: 106, lds: 64 * kib, ldsUnit: 512, maxLDS: 64 * kib},
	// RDNA 3 and 4 with half as many registers more
	{gfx: []string{"gfx1100", "gfx1101", "gfx1151", "gfx1200", "gfx1201"}, rdna: true, wavesPerSIMD: 16, vgprs: 768, vgprUnit: 12, maxVGPRs: 256,
		maxSGPRs: 106, lds: 64 * kib, ldsUnit: 512, maxLDS: 64 * kib},
}
