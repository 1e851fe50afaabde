// Operations are those of the module AsyncOperation. Programs that use both modules have one class
// with that name, and programs that import only this one get it, too.
@_exported import AsyncOperation
