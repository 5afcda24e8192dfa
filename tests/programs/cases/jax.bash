# JAX on two devices of the processor, and its CUDA plugin where there is no driver.
prepare() {
    need_python jax jax_plugins.xla_cuda12
    cat >small.py <<'PY'
import os, sys
import jax, jax.numpy as jnp

print([d.platform for d in jax.devices()])
print(jax.jit(lambda a: (a @ a.T).sum())(jnp.arange(12.0).reshape(3, 4)))
print(jax.grad(lambda x: jnp.sin(x) * x)(1.0))
print(jax.pmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")(jnp.arange(2.0)))
sys.exit(5)
PY
    cat >plugin.py <<'PY'
import ctypes, glob, os
import jax_plugins.xla_cuda12 as plugin

library = ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(plugin.__file__), "*.so"))[0])
library.GetPjrtApi.restype = ctypes.c_void_p
print("plugin", library.GetPjrtApi() is not None)
try:
    plugin.initialize()
except Exception as error:
    print(type(error).__name__, error)
PY
}

program() {
    XLA_FLAGS=--xla_force_host_platform_device_count=2 JAX_PLATFORMS=cpu python "$MADE/small.py"
    echo "status $?"
    python "$MADE/plugin.py"
    echo "status $?"
}
normalize() { sed -E 's/^[IWE][0-9]{4} [0-9:.]+ +[0-9]+ /LOG /; s/^ERROR:[0-9-]+ [0-9:,]+:/ERROR:/' | without_addresses; }
