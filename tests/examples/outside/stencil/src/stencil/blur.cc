// y[i] = side * x[i - 1] + x[i] + side * x[i + 1] along the last axis of float32 arrays, with zeros outside.

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

static ffi::Error BlurImpl(ffi::Buffer<ffi::F32> x, float side, ffi::ResultBuffer<ffi::F32> y) {
  const auto dimensions = x.dimensions();
  if (dimensions.size() == 0) return ffi::Error::InvalidArgument("blur: x must have an axis");
  if (!(side >= 0)) return ffi::Error::InvalidArgument("blur: side must not be negative");
  const size_t length = dimensions.back();
  for (size_t i = 0; i < x.element_count(); ++i) {
    const float *at = x.typed_data() + i;
    const float before = i % length == 0 ? 0 : at[-1];
    const float after = i % length == length - 1 ? 0 : at[1];
    y->typed_data()[i] = side * before + *at + side * after;
  }
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(Blur, BlurImpl,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Attr<float>("side")
                                  .Ret<ffi::Buffer<ffi::F32>>());
