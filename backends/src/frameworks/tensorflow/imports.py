import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

# A GPU must not round the factors of a product.
tf.config.experimental.enable_tensor_float_32_execution(False)
# It would turn 0 - x into -x, which it does not have for unsigned types.
tf.config.optimizer.set_experimental_options({"constant_folding": False})
