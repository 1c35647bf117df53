package kernels

import "testing"

func TestNormalize(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"nvjet_sm90_tst_128x64_64x8_1x2_h_bz_NNT", "nvjet_sm90_tst_128x64_64x8_1x2_h_bz_NNT"},
		{"void  f<A<int> >(float *,int)", "f<A<int>>(float *, int)"},
		{"f<A<B<int> > >(int ,  int)", "f<A<B<int>>>(int, int)"},
		{"void at::native::(anonymous namespace)::k(int)", "at::native::(anonymous namespace)::k(int)"},
		{"at::native::_GLOBAL__N__77f73b5e_20_RangeFactories_cu_38772b08::k(int)", "at::native::(anonymous namespace)::k(int)"},
		{"at::native::<unnamed>::k(int)", "at::native::(anonymous namespace)::k(int)"},
		{"triton_poi_fused_add_mul_12", "triton_poi_fused_add_mul_*"},
		{"triton_red_fused_0", "triton_red_fused_*"},
		{"triton_mine_12", "triton_mine_12"}, // not one that torch.compile numbers
		{"cutlass_80_tensorop_s16816gemm_bf16_128x128_32x5_nn_align8", "cutlass_80_tensorop_s16816gemm_bf16_128x128_32x5_nn_align8"},
		{"jit_kernel_0123456789abcdef0123_v2", "jit_kernel_*_v2"},
		{"jit_0123456789abcdef_0123456789abcdef", "jit_*_*"},
		{"k_01234567890123456789", "k_01234567890123456789"}, // a number
		{"closure 0x7f0012ab34cd", "closure 0x*"},
		{"  a\tb\n", "a b"},
		{"bad\xff\u202eutf", "bad??utf"},
		{"voidance(int)", "voidance(int)"},
	} {
		got := Normalize(c.in)
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
		if again := Normalize(got); again != got {
			t.Errorf("%q: a second time gives %q", got, again)
		}
	}
}

func FuzzNormalize(f *testing.F) {
	f.Add("void f<A<int> > >(float*, int)")
	f.Add("triton_poi_fused_0123456789abcdef_3")
	f.Add(" ,> ,>void void , _GLOBAL__N__12345678_x")
	f.Fuzz(func(t *testing.T, name string) {
		got := Normalize(name)
		if again := Normalize(got); again != got {
			t.Errorf("%q: %q, and then %q", name, got, again)
		}
	})
}
