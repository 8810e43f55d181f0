// y[t] = a[t] * y[t - 1] + x[t] along the last axis of row-major arrays, or from its end if `reverse`.

#include <cstddef>
#include <cstdint>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

template <typename T>
static void Run(bool reverse, size_t rows, size_t length, const T* x, const T* a, T* y) {
  const std::ptrdiff_t step = reverse ? -1 : 1;
  for (size_t row = 0; row < rows; ++row) {
    std::ptrdiff_t at = row * length + (reverse ? length - 1 : 0);
    T carry = 0;
    for (size_t t = 0; t < length; ++t, at += step) y[at] = carry = a[at] * carry + x[at];
  }
}

static ffi::Error Recurrence(bool reverse, ffi::AnyBuffer x, ffi::AnyBuffer a, ffi::Result<ffi::AnyBuffer> y) {
  const auto dimensions = x.dimensions();
  if (dimensions.size() == 0) return ffi::Error::InvalidArgument("recurrence: x must have an axis");
  if (x.element_count() == 0) return ffi::Error::Success();
  const size_t length = dimensions.back();
  const size_t rows = x.element_count() / length;
  switch (x.element_type()) {
    case ffi::F32:
      Run<float>(reverse, rows, length, x.typed_data<float>(), a.typed_data<float>(), y->typed_data<float>());
      return ffi::Error::Success();
    case ffi::F64:
      Run<double>(reverse, rows, length, x.typed_data<double>(), a.typed_data<double>(), y->typed_data<double>());
      return ffi::Error::Success();
    default:
      return ffi::Error::InvalidArgument("recurrence: x must have dtype float32 or float64");
  }
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    PrimaxRecurrence, Recurrence,
    ffi::Ffi::Bind().Attr<bool>("reverse").Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());
