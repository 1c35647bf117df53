package compare

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/flagos-ai/flagos-trace/timeline"
)

func TestClasses(t *testing.T) {
	for name, want := range map[string]string{
		"nvjet_sm90_tst_64x128_64x8_2x1_v_bz_NTN":                             "gemm",
		"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1": "gemm",
		"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_32x4_nt_align1>(cutlass_80_tensorop_s1688gemm_64x64_32x4_nt_align1::Params)": "gemm",
		"volta_sgemm_64x32_sliced1x4_nn": "gemm",
		"void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false, false, cublasGemvParams<a>>": "gemm",
		"cudnn_infer_volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1":                                        "conv",
		"igemm_bwd_gtcx2_nhwc_bf16_bx0_ex1_bt64x64x64_wt16x16x16":                                                        "conv",
		"sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16":                     "conv",
		"void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4>>":                  "attention",
		"attn_fwd": "attention",
		"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64":                                                                                                         "attention",
		"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}>>":                          "copy",
		"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(int)":                                                             "elementwise",
		"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, at::detail::Array<char*, 1> >(int)":                                                                 "fill",
		"void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::pow_tensor_scalar_kernel_impl<float, float>(at::TensorIteratorBase&, float)::{lambda(float)#1}>": "elementwise",
		"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::func_wrapper_t<float, at::native::sum_functor<float> > > >":                                            "reduce",
		"void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, false>(float*, float const*, int, int, int, bool const*)":                                            "softmax",
		"void at::native::(anonymous namespace)::cunn_SoftMaxForwardReg<float, float, float, at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>":                                    "softmax",
		"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, false>(int, float, float const*)":                                                                  "norm",
		"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb1ELb0ELb1ELi1EEEvPT0_":                                                                                                     "norm",
		"triton_poi_fused__unsafe_view_mul_silu_2":                                   "elementwise",
		"triton_red_fused__unsafe_view_add_mean_mul_pow_rsqrt_1":                     "norm",
		"triton_per_fused_sum_0":                                                     "reduce",
		"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)": "collective",
		"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::UnaryOpFunctor<long>>": "optimizer",
		"void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 4, 64, 64>":                                              "copy",
		"void cudnn::fusion::convert_something(void const*)": "copy",
		"something_nobody_knows":                             "other",
	} {
		if got := DefaultRules().Class(timeline.Kernel, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	for kind, want := range map[timeline.Kind]string{timeline.Memcpy: "copy", timeline.MemcpyPeer: "copy", timeline.Memset: "fill"} {
		if got := DefaultRules().Class(kind, "gemm"); got != want {
			t.Errorf("%s is %s, want %s", kind, got, want)
		}
	}
}

func TestOperatorNames(t *testing.T) {
	for name, want := range map[string]string{
		"aten::mm":                "aten::mm",
		"aten::miopen_batch_norm": "aten::native_batch_norm",
		"nccl:all_reduce":         "c10d::",
		"Torch-Compiled Region: 3/1 (dynamo_timed)": "Torch-Compiled Region",
		"triton_poi_fused_add_relu_12":              "triton_poi_fused_add_relu",
	} {
		if got := DefaultRules().Operator(name); got != want {
			t.Errorf("%s is compared as %s, want %s", name, got, want)
		}
	}
}

func TestRulesFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.yaml")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("operators: {aten::mm: [fl::matmul, 'fl::mm_*']}\nkernels: [{class: gemm, any: [flaggems_mm]}, {class: mine, any: [elementwise]}]\nfamilies: {memory-bound: [mine]}")
	r, err := LoadRules(path)
	if err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{
		r.Operator("FL::matmul"): "aten::mm", r.Operator("fl::mm_v2"): "aten::mm", r.Operator("aten::miopen_batch_norm"): "aten::native_batch_norm",
		r.Class(timeline.Kernel, "my_flaggems_mm_1"): "gemm", r.Class(timeline.Kernel, "vectorized_elementwise"): "mine",
		r.Family("mine"): "memory-bound", r.Family("gemm"): "gemm",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if DefaultRules().Operator("fl::matmul") != "fl::matmul" {
		t.Error("a rules file changed the default rules")
	}
	for _, bad := range []string{"kernls: []", "kernels: [{class: x}]", "vary: [{prefix: a, cut: b}]", "\t"} {
		write(bad)
		if _, err := LoadRules(path); !errors.Is(err, ErrRules) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := LoadRules(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func FuzzRules(f *testing.F) {
	f.Add(defaultRules, "aten::mm")
	f.Add([]byte("operators: {a: ['*', b]}\nkernels: [{class: x, any: ['**', '']}]"), "*")
	f.Add([]byte("families: {a: [b]}\nvary: [{prefix: t, cut: rest}]"), "t9")
	f.Fuzz(func(t *testing.T, text []byte, name string) {
		r, err := DefaultRules().Extend(text)
		if err != nil {
			if !errors.Is(err, ErrRules) {
				t.Errorf("%v", err)
			}
			return
		}
		if class := r.Class(timeline.Kernel, name); class == "" {
			t.Errorf("%q has no class", name)
		}
		r.Operator(name)
	})
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		p, s string
		want bool
	}{{"a*c", "abc", true}, {"a*c", "abcd", false}, {"*b*", "abc", true}, {"abc", "ABC", true}, {"abc", "abcd", false}, {"a*b*c", "a-c-b", false}, {"a*a", "a", false}} {
		if got := whole(c.p).fits(c.s); got != c.want {
			t.Errorf("%q fits %q: %v", c.p, c.s, got)
		}
	}
}
