// Foreign functions for tests/extend/test_ffi.py.

#include <cstdint>
#include <memory>
#include <string_view>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

using Floats = ffi::Buffer<ffi::F32>;
using Result = ffi::ResultBuffer<ffi::F32>;

static ffi::Error Scale(float factor, Floats x, Result y) {
  if (factor < 0) return ffi::Error::InvalidArgument("the factor is negative");
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = factor * x.typed_data()[i];
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(ScaleHandler, Scale, ffi::Ffi::Bind().Attr<float>("factor").Arg<Floats>().Ret<Floats>());

// The sum and the number of elements, and how often it was called.
static int64_t calls = 0;
static ffi::Error Count(Floats x, Result sum, ffi::ResultBuffer<ffi::S32> size) {
  ++calls;
  sum->typed_data()[0] = 0;
  for (size_t i = 0; i < x.element_count(); ++i) sum->typed_data()[0] += x.typed_data()[i];
  size->typed_data()[0] = x.element_count();
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(CountHandler, Count,
                              ffi::Ffi::Bind().Arg<Floats>().Ret<Floats>().Ret<ffi::Buffer<ffi::S32>>());
extern "C" int64_t count_calls() { return calls; }

// Every kind of attribute, as a number.
static ffi::Error Attributes(bool flag, int64_t integer, double real, std::string_view text, int8_t small,
                             ffi::Span<const int32_t> numbers, ffi::Dictionary options, Result y) {
  auto depth = options.get<int64_t>("depth");
  auto inner = options.get<ffi::Dictionary>("inner");
  if (!depth.has_value()) return depth.error();
  if (!inner.has_value()) return inner.error();
  auto rate = inner->get<float>("rate");
  if (!rate.has_value()) return rate.error();
  float* out = y->typed_data();
  *out++ = flag;
  *out++ = integer;
  *out++ = real;
  *out++ = text.size();
  *out++ = small;
  *out = 0;
  for (auto number : numbers) *out = 10 * *out + number;
  *++out = *depth;
  *++out = *rate;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(AttributesHandler, Attributes,
                              ffi::Ffi::Bind()
                                  .Attr<bool>("flag")
                                  .Attr<int64_t>("integer")
                                  .Attr<double>("real")
                                  .Attr<std::string_view>("text")
                                  .Attr<int8_t>("small")
                                  .Attr<ffi::Span<const int32_t>>("numbers")
                                  .Attr<ffi::Dictionary>("options")
                                  .Ret<Floats>());

// A state that is made once for each program, and counts its executions.
struct Counter {
  static ffi::TypeId id;
  static ffi::TypeInfo info;
  float executions = 0;
};
ffi::TypeId Counter::id = {};
ffi::TypeInfo Counter::info = ffi::MakeTypeInfo<Counter>();
extern "C" void* counter_id() { return &Counter::id; }
extern "C" void* counter_info() { return &Counter::info; }

static ffi::ErrorOr<std::unique_ptr<Counter>> MakeCounter() { return std::make_unique<Counter>(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(MakeCounterHandler, MakeCounter, ffi::Ffi::BindInstantiate());

static ffi::Error Tick(Counter* counter, Result y) {
  y->typed_data()[0] = ++counter->executions;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(TickHandler, Tick, ffi::Ffi::Bind().Ctx<ffi::State<Counter>>().Ret<Floats>());
