# Builds kernel sources, spaces and model presets into the binary (src/jit/embedded.h).
file(GLOB_RECURSE MOETUNE_EMBEDDED_FILES CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
  kernels/*.cu kernels/*.cuh search_spaces/*.json)
if(EXISTS ${CMAKE_SOURCE_DIR}/src/workload/models.json)
  # Host files of kernel families: part of their digests.
list(APPEND MOETUNE_EMBEDDED_FILES src/workload/models.json src/kernels/grouped_gemm.cpp src/kernels/layer_steps.cpp)
endif()
list(SORT MOETUNE_EMBEDDED_FILES)
set(MOETUNE_EMBEDDED_SOURCE ${CMAKE_BINARY_DIR}/generated/embedded_data.cpp)
set(embedded_inputs ${MOETUNE_EMBEDDED_FILES})
list(TRANSFORM embedded_inputs PREPEND ${CMAKE_SOURCE_DIR}/)
string(REPLACE ";" "|" embedded_list "${MOETUNE_EMBEDDED_FILES}")
add_custom_command(
  OUTPUT ${MOETUNE_EMBEDDED_SOURCE}
  COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR} "-DFILES=${embedded_list}" -DOUTPUT=${MOETUNE_EMBEDDED_SOURCE}
          -P ${CMAKE_SOURCE_DIR}/cmake/embed_script.cmake
  DEPENDS ${embedded_inputs} ${CMAKE_SOURCE_DIR}/cmake/embed_script.cmake
  COMMENT "Embedding kernels, spaces and presets"
  VERBATIM)
